/* SPDX-License-Identifier: MIT */
/* Texts in columns. */
#ifndef TRAIN_REPORT_TABLE_H
#define TRAIN_REPORT_TABLE_H

#include <stdio.h>

enum { TABLE_COLUMNS = 10, TABLE_CELL = 160 };

struct table {
	int columns, rows;
	size_t room;
	const char *heads[TABLE_COLUMNS];
	char (*cells)[TABLE_COLUMNS][TABLE_CELL];
};

/* heads end with NULL, and live as long. */
void table_open(struct table *table, const char *const *heads);
/* Adds a row of empty cells; table_set fills cells of the last one. Control characters become
 * '?'. */
void table_row(struct table *table);
void table_set(struct table *table, int column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Two spaces before each row and between columns; columns with nothing but "" are left out. An
 * empty cell elsewhere is "-". Frees it. */
void table_print(struct table *table, FILE *out);

#endif
