/* SPDX-License-Identifier: MIT */
/* Tables in files: columns between tabs, a line of names first, lines with # left out. */
#ifndef GM_TSV_H
#define GM_TSV_H

#include <stddef.h>

#include "text.h"

enum { TSV_COLUMNS = 8 };

struct tsv_row {
	const char *column[TSV_COLUMNS]; /* "" where a line has fewer */
};

struct tsv {
	char *text;
	struct tsv_row *rows;
	size_t count;
};

/* tests/NAME of the source tree, without its line of names. Ends the program where it
 * cannot be read. */
struct tsv tsv_read(const char *name);
void tsv_free(struct tsv *tsv);

/* The text of a column that has \n, \r, \t, \xNN and \\ for what they stand for; in place. */
struct span tsv_unescape(char *text);

#endif
