/* SPDX-License-Identifier: MIT */
/* See text_table.h. */
#include "cli/text_table.h"

#include "style.h"
#include "text_cells.h"

struct strbuf *text_table_add(struct text_table *table)
{
	for (size_t c = 0; c < table->count; c++)
		*ARRAY_NEXT(table->cells, table->cell_count, table->room) = (struct strbuf){0};
	return &table->cells[table->cell_count - table->count];
}

void text_table_fit(struct text_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++) {
		const struct strbuf *cell = &table->cells[i];
		const char *head = table->columns[i % table->count].head;
		size_t *width = &table->widths[i % table->count];
		size_t cells = cell->length ? text_cells(cell->text, cell->length) : 0;

		if (cells && cells < strlen(head))
			cells = strlen(head);
		if (cells > *width)
			*width = cells;
	}
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

void text_table_row(struct strbuf *buf, const struct text_table *table, size_t row, size_t indent,
		    size_t width, unsigned marked)
{
	size_t last = table->count - 1, used = indent + text_table_cells(table);

	strbuf_printf(buf, "%*s", (int)indent, "");
	for (size_t c = 0; c <= last; c++) {
		const struct strbuf *cell = &table->cells[row * table->count + c];
		const char *text = cell->text ? cell->text : "";
		bool mark = marked >> c & 1;

		if (c < last && !table->widths[c])
			continue;
		if (mark)
			style_set(buf, STYLE_WARNING);
		if (c < last)
			text_cells_pad(buf, text, table->widths[c], table->columns[c].right);
		else
			text_cells_put(buf, text, width > used ? width - used : 0);
		if (mark)
			style_set(buf, STYLE_PLAIN);
		if (c < last)
			strbuf_printf(buf, "%*s", TEXT_TABLE_GAP, "");
	}
	strbuf_puts(buf, "\n");
}

void text_table_free(struct text_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		strbuf_free(&table->cells[i]);
	free(table->cells);
}
