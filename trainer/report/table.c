/* SPDX-License-Identifier: MIT */
/* See table.h. */
#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

void table_open(struct table *table, const char *const *heads)
{
	*table = (struct table){.columns = 0};
	while (heads[table->columns]) {
		table->heads[table->columns] = heads[table->columns];
		table->columns++;
	}
}

void table_row(struct table *table)
{
	memset(ARRAY_NEXT(table->cells, table->rows, table->room), 0, sizeof(*table->cells));
}

void table_set(struct table *table, int column, const char *format, ...)
{
	char *cell;
	va_list args;

	cell = table->cells[table->rows - 1][column];
	va_start(args, format);
	vsnprintf(cell, TABLE_CELL, format, args);
	va_end(args);
	for (; *cell; cell++)
		if ((unsigned char)*cell < ' ' || *cell == 0x7f)
			*cell = '?';
}

static void print_row(const struct table *table, FILE *out, const int *widths, int row)
{
	int last = table->columns - 1;

	while (last > 0 && !widths[last])
		last--;
	for (int c = 0; c <= last; c++) {
		const char *cell = row < 0 ? table->heads[c] : table->cells[row][c];

		if (!widths[c])
			continue;
		if (row >= 0 && !cell[0])
			cell = "-";
		fprintf(out, "  %s%*s", cell, c < last ? widths[c] - (int)strlen(cell) : 0, "");
	}
	fputc('\n', out);
}

void table_print(struct table *table, FILE *out)
{
	int widths[TABLE_COLUMNS] = {0};

	for (int c = 0; c < table->columns; c++) {
		for (int row = 0; row < table->rows; row++) {
			int length = (int)strlen(table->cells[row][c]);

			widths[c] = length > widths[c] ? length : widths[c];
		}
		if (widths[c] && widths[c] < (int)strlen(table->heads[c]))
			widths[c] = (int)strlen(table->heads[c]);
	}
	for (int row = -1; row < table->rows && table->rows; row++)
		print_row(table, out, widths, row);
	free(table->cells);
	table->cells = NULL;
}
