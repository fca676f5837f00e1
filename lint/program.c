/* SPDX-License-Identifier: MIT */
/* Python files, by themselves or started by another file. */
#include "lint/files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "readfile.h"
#include "report.h"
#include "strbuf.h"

/* A file is not larger than this (64 MiB); a profile is bounded by the library. */
enum { MAX_LINT = 64 << 20 };

int lint_read(char **text, size_t *size, const char *path, gpumap_report *report)
{
	int error = read_file(path, true, MAX_LINT, text, size);

	return report_read(report, error, path, "the file", MAX_LINT, NULL);
}

int lint_program(const struct lint *lint, struct span text, const char *path)
{
	struct python_start start = {
		.launcher = lint->launcher, .passes = -1, .inventory = lint->inventory};

	for (const struct python_launcher *l = python_launchers; l->name; l++)
		if (lint->launcher && streq(l->name, lint->launcher))
			start.passes = l->passes;
	return lint_python(text, path, &start, lint->found);
}

/* The file beside `from`, else from here; NULL: it is in neither place, or no memory. */
static char *find_program(const char *from, const char *path)
{
	const char *slash = strrchr(from, '/');
	struct strbuf buf = {0};
	char *found;

	if (*path != '/' && slash) {
		strbuf_printf(&buf, "%.*s/%s", (int)(slash - from), from, path);
		found = strbuf_take(&buf);
		if (!found || access(found, R_OK) == 0)
			return found;
		free(found);
	}
	return access(path, R_OK) == 0 ? strdup(path) : NULL;
}

int lint_started_file(const struct lint *lint, const struct python_start *start, const char *from,
		      const char *name)
{
	char *path = find_program(from, name), *text = NULL;
	gpumap_report *report;
	size_t size = 0;
	int r;

	if (!path)
		return GPUMAP_OK;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK) {
		r = lint_read(&text, &size, path, report);
		if (r == GPUMAP_OK)
			r = lint_python((struct span){text, size}, path, start, report);
		free(text);
		lint_relay(lint->found, report);
		gpumap_report_free(report);
	}
	free(path);
	return r == GPUMAP_ENOMEM ? report_nomem(lint->found) : GPUMAP_OK;
}
