/* SPDX-License-Identifier: MIT */
#include "tsv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *path)
{
	perror(path);
	exit(99);
}

static char *read_all(const char *name)
{
	const char *root = getenv("GPUMAP_TEST_SRCDIR");
	char path[4096], *text = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/%s", root ? root : ".", name);
	file = fopen(path, "r");
	if (!file || getdelim(&text, &room, '\0', file) < 0)
		give_up(path);
	fclose(file);
	return text;
}

static void split(struct tsv *tsv, char *text)
{
	char *line, *rest = text;
	int seen = 0;

	while ((line = strsep(&rest, "\n"))) {
		struct tsv_row row;

		if (!*line || *line == '#' || seen++ == 0)
			continue;
		for (int i = 0; i < TSV_COLUMNS; i++)
			row.column[i] = line ? strsep(&line, "\t") : "";
		tsv->rows = realloc(tsv->rows, (tsv->count + 1) * sizeof(row));
		if (!tsv->rows)
			give_up("memory");
		tsv->rows[tsv->count++] = row;
	}
}

struct tsv tsv_read(const char *name)
{
	struct tsv tsv = {read_all(name), NULL, 0};

	split(&tsv, tsv.text);
	return tsv;
}

void tsv_free(struct tsv *tsv)
{
	free(tsv->text);
	free(tsv->rows);
	memset(tsv, 0, sizeof(*tsv));
}

struct span tsv_unescape(char *text)
{
	struct span s = {text, 0};
	char *to = text;

	for (; *text; text++) {
		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		text++;
		if (*text == 'x') {
			*to++ = (char)strtoul((char[]){text[1], text[2], 0}, NULL, 16);
			text += 2;
		} else {
			*to++ = *text == 'n'   ? '\n'
				: *text == 'r' ? '\r'
				: *text == 't' ? '\t'
					       : *text;
		}
	}
	s.length = (size_t)(to - s.text);
	return s;
}
