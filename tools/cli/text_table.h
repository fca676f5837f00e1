/* SPDX-License-Identifier: MIT */
/* A table for people: columns as wide as what they hold, two cells apart. The last one is not
 * padded, and is cut where the line ends. */
#ifndef GM_TEXT_TABLE_H
#define GM_TEXT_TABLE_H

#include "strbuf.h"

struct text_column {
	const char *head;
	bool right;
};

enum { TEXT_TABLE_COLUMNS = 12, TEXT_TABLE_GAP = 2 };

/* Begin with the columns, and the count of them; all else is zero. */
struct text_table {
	const struct text_column *columns;
	size_t count;
	size_t widths[TEXT_TABLE_COLUMNS]; /* in cells; 0: the column is left out */
	struct strbuf *cells;              /* of all rows */
	size_t cell_count, room;
};

/* Adds a row of empty cells, to be written before the next is added. */
struct strbuf *text_table_add(struct text_table *table);

/* Makes the columns as wide as what they hold, and as their heads if they hold something. */
void text_table_fit(struct text_table *table);

/* The cells of a line before its last column. */
size_t text_table_cells(const struct text_table *table);

/* Append a line, indented by `indent` cells and not longer than `width`. Bit c of `marked`: column
 * c has a warning's style. */
void text_table_heads(struct strbuf *buf, const struct text_table *table, size_t indent);
void text_table_row(struct strbuf *buf, const struct text_table *table, size_t row, size_t indent,
		    size_t width, unsigned marked);

void text_table_free(struct text_table *table);

#endif
