/* SPDX-License-Identifier: MIT */
/* See text_table.h. */
#include "cli/text_table.h"

#include "style.h"
#include "text_cells.h"

void text_table_add(struct text_table *table, struct strbuf *cell)
{
	size_t *width = &table->widths[table->cell_count % (table->count - 1)];
	size_t cells = cell->length ? text_cells(cell->text, cell->length) : 0;

	if (cells > *width)
		*width = cells;
	*ARRAY_NEXT(table->cells, table->cell_count, table->room) = strbuf_take(cell);
}

void text_table_fit_heads(struct text_table *table)
{
	for (size_t c = 0; c + 1 < table->count; c++)
		if (table->widths[c] && table->widths[c] < strlen(table->columns[c].head))
			table->widths[c] = strlen(table->columns[c].head);
}

size_t text_table_cells(const struct text_table *table)
{
	size_t cells = 0;

	for (size_t c = 0; c + 1 < table->count; c++)
		cells += table->widths[c] ? table->widths[c] + TEXT_TABLE_GAP : 0;
	return cells;
}

void text_table_heads(struct strbuf *buf, const struct text_table *table, size_t indent)
{
	strbuf_printf(buf, "%*s", (int)indent, "");
	style_set(buf, STYLE_FAINT);
	for (size_t c = 0; c + 1 < table->count; c++) {
		if (!table->widths[c])
			continue;
		text_cells_pad(buf, table->columns[c].head, table->widths[c],
			       table->columns[c].right);
		strbuf_printf(buf, "%*s", TEXT_TABLE_GAP, "");
	}
	strbuf_puts(buf, table->columns[table->count - 1].head);
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
}

void text_table_row(struct strbuf *buf, const struct text_table *table, size_t row,
		    const char *last, size_t indent, size_t width, unsigned marked)
{
	size_t columns = table->count - 1, used = indent + text_table_cells(table);

	strbuf_printf(buf, "%*s", (int)indent, "");
	for (size_t c = 0; c < columns; c++) {
		bool mark = marked >> c & 1;

		if (!table->widths[c])
			continue;
		if (mark)
			style_set(buf, STYLE_WARNING);
		text_cells_pad(buf, table->cells[row * columns + c], table->widths[c],
			       table->columns[c].right);
		if (mark)
			style_set(buf, STYLE_PLAIN);
		strbuf_printf(buf, "%*s", TEXT_TABLE_GAP, "");
	}
	if (marked >> columns & 1)
		style_set(buf, STYLE_WARNING);
	text_cells_put(buf, last, width == SIZE_MAX ? width : width > used ? width - used : 0);
	if (marked >> columns & 1)
		style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
}

void text_table_free(struct text_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
}
