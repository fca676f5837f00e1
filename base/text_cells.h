/* SPDX-License-Identifier: MIT */
/* The width of a text on a terminal, in cells. Most characters take one, those of East Asia and
 * pictures two. Escaped text (text.h) has no characters without width. */
#ifndef GM_TEXT_CELLS_H
#define GM_TEXT_CELLS_H

#include "strbuf.h"

size_t text_cells(const char *text, size_t length);

/* How many bytes of the text fit into `cells`, in whole characters. */
size_t text_cells_fit(const char *text, size_t length, size_t cells);

/* Appends as much of the text as fits into `cells`. If it is cut, it ends with "...", as far as
 * there is room for that. */
void text_cells_put(struct strbuf *buf, const char *text, size_t cells);

/* The same, filled with blanks to `cells`; `right`: before the text. */
void text_cells_pad(struct strbuf *buf, const char *text, size_t cells, bool right);

#endif
