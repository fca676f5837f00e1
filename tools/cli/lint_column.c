/* SPDX-License-Identifier: MIT */
/* The column of a finding in characters, as SARIF and GitHub count. The linters count bytes. */
#include "cli/lint_print.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "rootfile.h"

enum { MAX_FILE = 64 << 20 }; /* as lint reads it */

size_t lint_byte(const char *text, unsigned char *byte)
{
	static const char hex[] = "0123456789abcdef";
	const char *high, *low;

	*byte = (unsigned char)*text;
	if (text[0] != '\\' || text[1] != 'x' || !text[2] || !text[3])
		return 1;
	high = strchr(hex, text[2]);
	low = strchr(hex, text[3]);
	if (!high || !low)
		return 1;
	*byte = (unsigned char)((high - hex) * 16 + (low - hex));
	return 4;
}

char *lint_path(const char *origin)
{
	struct strbuf name = {0};
	unsigned char byte;

	strbuf_puts(&name, "");
	while (*origin) {
		origin += lint_byte(origin, &byte);
		strbuf_add(&name, (const char *)&byte, 1);
	}
	return strbuf_take(&name);
}

void lint_columns_free(struct lint_columns *columns)
{
	free(columns->text);
	free(columns->lines);
	*columns = (struct lint_columns){0};
}

static void add_line(struct lint_columns *columns, size_t start)
{
	*ARRAY_NEXT(columns->lines, columns->count, columns->room) = start;
}

/* Reads the file that a finding is about, if it can be read again. */
static void open_file(struct lint_columns *columns, const char *origin)
{
	CLEANUP_FREE char *path = lint_path(origin);

	lint_columns_free(columns);
	columns->origin = origin;
	root_read("", path, MAX_FILE, &columns->text, &columns->size);
	add_line(columns, 0);
	for (size_t i = 0; i < columns->size; i++)
		if (columns->text[i] == '\n')
			add_line(columns, i + 1);
}

int64_t lint_column(struct lint_columns *columns, const gpumap_finding *f)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);
	size_t past;

	if (line <= 0 || column <= 1)
		return column;
	if (!columns->origin || !streq(columns->origin, origin))
		open_file(columns, origin);
	if (!columns->text || (size_t)line > columns->count)
		return column;
	past = columns->lines[line - 1] + (size_t)column;
	/* From the finding before, which is on the left in the same line as a rule. */
	if (columns->line != line || columns->at > past) {
		columns->line = line;
		columns->at = columns->lines[line - 1] + 1;
		columns->characters = 1;
	}
	/* What follows the first byte of a character is 10xxxxxx. */
	for (; columns->at < columns->size && columns->at < past; columns->at++)
		columns->characters += (columns->text[columns->at] & 0xc0) != 0x80;
	return columns->characters;
}
