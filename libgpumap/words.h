/* SPDX-License-Identifier: MIT */
/*
 * A command line to its arguments, by quoting as in a shell and nothing else of one:
 * blanks part, '...' keeps everything, "..." keeps blanks and knows \" \\ \n \t \r \xNN,
 * a backslash outside quotes takes the next character as it is. A ${...} is never
 * parted. The words are ready for expand.h: what single quotes hold is protected
 * from it.
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

/* Appends a word of words_next so that it is read again as it is, from a file too. */
void words_encode(struct strbuf *buf, struct span word);

/* Appends a word so that words_next and every shell take it as it is: in '...' unless it is
 * of plain characters alone. */
void words_quote(struct strbuf *buf, const char *word);

#endif
