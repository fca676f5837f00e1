/* SPDX-License-Identifier: MIT */
/* The greatest width of a text, in pixels, in the fonts that viewers of pictures use. */
#ifndef GM_TEXT_WIDTH_H
#define GM_TEXT_WIDTH_H

#include "base.h"

#define ELLIPSIS "\xe2\x80\xa6"

struct font {
	int size; /* pixels */
	bool bold, mono;
};

int text_width(struct font font, const char *text, size_t length);

/* How many bytes of the text fit into `width`, in whole characters. */
size_t text_fit(struct font font, const char *text, size_t length, int width);

/* The same, but if the whole text does not fit, there is room for an ellipsis after these bytes. */
size_t text_cut(struct font font, const char *text, size_t length, int width);

#endif
