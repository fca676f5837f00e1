/* SPDX-License-Identifier: MIT */
/* Colours of text for people. Only this file decides what each part looks like. The caller
 * sets `styled`; for the command tools/cli/color.c decides whether there are colours. */
#ifndef GM_STYLE_H
#define GM_STYLE_H

#include "strbuf.h"

enum style {
	STYLE_PLAIN,   /* ends the current style */
	STYLE_ANSWER,  /* the answer to the question */
	STYLE_HEADING, /* of a section, or a host */
	STYLE_MARK,    /* what is chosen */
	STYLE_RULE,    /* the id of a rule */
	STYLE_FAINT,   /* heads of tables, origins, ids of messages */
	STYLE_REMARK,
	STYLE_WARNING,
	STYLE_ERROR
};

/* The terminal's code for a style; "" unless `styled`. */
const char *style_code(bool styled, enum style style);

/* Appends the code if the buffer is `styled`. Padding counts the text alone, so write codes outside
 * of what is padded. */
void style_set(struct strbuf *buf, enum style style);
/* The text in that style, then plain again. */
void style_puts(struct strbuf *buf, enum style style, const char *text);

#endif
