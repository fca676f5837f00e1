/* SPDX-License-Identifier: MIT */
/* Remedies that repeat the values of the command line. */
#ifndef GM_HINT_LINE_H
#define GM_HINT_LINE_H

#include "strbuf.h"
#include "text.h"

/* Whether the line has what one of the names, separated by blanks, stands for: an option and its
 * value, "#" a number, "#," a list of them, "#G" a size, ".py" a word that ends so, "GM*" one that
 * begins so, also behind =, or the word itself. */
bool line_has(char **words, struct span names, struct span *value);

/* Adds the remedy. In its pattern {NAMES|OTHERWISE} stands for the value that the line has,
 * {=NAMES|} for that with = before it, {*NAMES|OTHERWISE} for its bytes as a program writes them,
 * {...|} for all words behind the first, and @ for the first. */
void hint_fill(struct strbuf *buf, const char *pattern, char **words);

#endif
