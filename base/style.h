/* SPDX-License-Identifier: MIT */
/* Colours of text for people: what each part looks like is decided here alone. */
#ifndef GM_STYLE_H
#define GM_STYLE_H

#include "strbuf.h"

enum style {
	STYLE_PLAIN,   /* ends the one before */
	STYLE_ANSWER,  /* the line that was asked for */
	STYLE_HEADING, /* of a section, or a host */
	STYLE_MARK,    /* what is chosen */
	STYLE_RULE,    /* the id of a rule */
	STYLE_FAINT,   /* heads of tables, origins, ids of messages */
	STYLE_REMARK,
	STYLE_WARNING,
	STYLE_ERROR
};

/* What a terminal is sent for it; "" where text is not styled. */
const char *style_code(bool styled, enum style style);

/* Appends the code where the buffer is `styled`. Widths count text alone, so it stands beside
 * what is padded and not inside. */
void style_set(struct strbuf *buf, enum style style);
/* The text in that style, and plain again behind it. */
void style_puts(struct strbuf *buf, enum style style, const char *text);

#endif
