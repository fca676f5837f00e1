/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_PRINT_H
#define GM_LINT_PRINT_H

#include "cli/output.h"
#include "strbuf.h"

/* The words of --format, in this order. */
#define LINT_FORMATS "text|json|sarif|github"
enum lint_format { LINT_TEXT, LINT_JSON, LINT_SARIF, LINT_GITHUB };

/* Prints the findings, and in the formats for programs the errors of the command line and of
 * reading, which output->report has; false after a finding when that fails. */
bool lint_print(const gpumap_report *found, const struct output *output, enum lint_format format);

/* lint_column.c. The names of files are shown with escapes: one byte of what the file system has.
 * Returns how long it is in the text. */
size_t lint_byte(const char *text, unsigned char *byte);
/* The whole name, for the caller to free. */
char *lint_path(const char *origin);

/* The file whose columns were asked for last. */
struct lint_columns {
	const char *origin;
	char *text;
	size_t size, *lines, count, room; /* where lines begin */
	int64_t line, characters;         /* of the finding before, whose character ends before: */
	size_t at;
};

/* A finding's column in characters, if its file can be read again. */
int64_t lint_column(struct lint_columns *columns, const gpumap_finding *f);
void lint_columns_free(struct lint_columns *columns);

/* lint_sarif.c */
void lint_sarif(struct strbuf *text, const gpumap_report *found, const gpumap_report *report);
void lint_github(struct strbuf *text, const gpumap_report *found, const gpumap_report *report);

#endif
