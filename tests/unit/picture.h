/* SPDX-License-Identifier: MIT */
/* Reads a picture as a viewer does, and checks what holds for each: well-formed,
 * self-contained, nothing outside, and no boxes or texts across each other. */
#ifndef GM_PICTURE_H
#define GM_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "explain/svg.h"

struct picture {
	const char *name;
	struct strbuf text; /* of all elements, each followed by a newline */
	long width, height, x, y, x0, y0;
	struct box boxes[512];
	size_t box_count;
	struct box texts[1024];   /* where each text is, by its greatest width */
	size_t text_count, begin; /* begin: of the text that is read */
	struct ink ink;
	bool middle;
	int depth;
	bool in_text;
};

/* The text of all elements, for the caller to free; `name` is for messages. */
char *picture_look(const char *name, const char *svg, struct picture *seen);

#endif
