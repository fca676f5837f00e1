/* SPDX-License-Identifier: MIT */
/* Lines of text as people paste it: removes colour codes, quoting and log prefixes. */
#ifndef GM_LINES_H
#define GM_LINES_H

#include "base.h"
#include "text.h"

struct line {
	struct span text; /* without colour codes and the line end */
	struct span body; /* also without quoting, comment marks, log prefixes and outer blanks */
	int number;
	bool cut; /* no newline follows: this is the last line, and may be cut */
};

struct cursor {
	struct span rest;
	const char *newline; /* the next newline; NULL: not searched yet */
	int number;
};

struct lines {
	struct cursor at;
	char *decoded; /* the whole text, if it was UTF-16 */
	char *copy;    /* the current line, if codes were removed from it */
	size_t room;
	bool failed; /* memory ran out */
};

/* Starts at the beginning of `text`; UTF-16 with a byte order mark is decoded. False
 * without memory. */
bool lines_start(struct lines *lines, struct span text) MUST_CHECK;
void lines_free(struct lines *lines);

/* The next line, valid until the next call; false at the end or without memory. */
bool lines_next(struct lines *lines, struct line *line);

#endif
