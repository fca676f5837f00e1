/* SPDX-License-Identifier: MIT */
/*
 * Splits a command line into arguments by a shell's quoting, and supports nothing else of a shell.
 * Blanks separate words; '...' keeps everything; "..." keeps blanks and has the escapes \" \\ \n \t
 * \r \xNN; outside of quotes a backslash takes the next character literally. A ${...} is never
 * split. The words are ready for expand.h: the contents of single quotes are protected from it.
 */
#ifndef GM_WORDS_H
#define GM_WORDS_H

#include "strbuf.h"
#include "text.h"

struct words_error {
	const char *at; /* in the text */
	const char *text, *fix;
};

/* Takes the next word off *rest into `word`, which must be empty. True: there was one.
 * False at the end, or with error->at set. Without memory word->failed is set. */
bool words_next(struct span *rest, struct strbuf *word, struct words_error *error);

/* Appends a word of words_next so that it is read back the same, from a file too. */
void words_encode(struct strbuf *buf, struct span word);

/* Appends a word so that words_next and every shell read it unchanged: in '...' unless all its
 * characters are plain. */
void words_quote(struct strbuf *buf, const char *word);

#endif
