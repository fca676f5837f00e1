/* SPDX-License-Identifier: MIT */
/* Python files, by themselves or started by another file. */
#include "lint/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "lint/shell.h"
#include "readfile.h"
#include "report/report.h"
#include "rootfile.h"
#include "strbuf.h"

/* A file is not larger than this (64 MiB); a profile is bounded by the library. */
enum { MAX_LINT = 64 << 20 };

static int report_failure(int error, const char *path, gpumap_report *report)
{
	return report_read(report, error, path, "the file", MAX_LINT, NULL);
}

int lint_read(char **text, size_t *size, const char *path, gpumap_report *report)
{
	return report_failure(read_file(path, true, MAX_LINT, text, size), path, report);
}

/* Findings of a report of their own, so that the file's comments can hide some. */
static int lint_reported(const struct lint *lint, struct span text, struct seen_file *file,
			 const struct python_start *start)
{
	struct lint_started started = {0};
	struct python_start collecting = *start;
	gpumap_report *report;
	int r = gpumap_report_new(&report);

	if (r != GPUMAP_OK)
		return report_nomem(lint->found);
	/* What a rank starts itself has no ranks of the plan. */
	collecting.started = lint->planned ? NULL : &started;
	lint_python(text, file->path, &collecting, report);
	r = seen_relay(lint, file, report, true);
	gpumap_report_free(report);
	if (r == GPUMAP_OK)
		r = lint_programs(lint, &started, file);
	lint_started_free(&started);
	return r;
}

int lint_program(const struct lint *lint, struct span text, struct seen_file *file)
{
	struct python_start start = python_start_unknown();

	if (lint->planned)
		return lint_reported(lint, text, file, lint->planned);
	start.launcher = lint->launcher;
	start.inventory = lint->inventory;

	for (const struct python_launcher *l = python_launchers; l->name; l++)
		if (lint->launcher && streq(l->name, lint->launcher))
			start.passes = l->passes;
	return lint_reported(lint, text, file, &start);
}

/* A file relative to `from`, else to the current folder; *ret is NULL if it is in neither place, or
 * access() by `mode` fails. False without memory. */
static bool find_program(char **ret, const char *from, const char *path, int mode)
{
	const char *slash = strrchr(from, '/');
	struct strbuf buf = {0};

	*ret = NULL;
	if (*path != '/' && slash) {
		strbuf_printf(&buf, "%.*s/%s", (int)(slash - from), from, path);
		*ret = strbuf_take(&buf);
		if (!*ret || access(*ret, mode) == 0)
			return *ret;
		free(*ret);
		*ret = NULL;
	}
	if (access(path, mode) != 0)
		return true;
	*ret = strdup(path);
	return *ret;
}

bool lint_lacks(bool *ret, const char *from, const char *name)
{
	char *path;

	if (!find_program(&path, from, name, F_OK))
		return false;
	*ret = !path;
	free(path);
	return true;
}

/* The name may be a folder that Python executes, or what is no program: a pipe, a device. */
static int lint_found_file(const struct lint *lint, const struct python_start *start,
			   const char *path)
{
	struct seen_file *file = seen_file(lint->seen, path);
	char *text = NULL;
	size_t size = 0;
	int error, r;

	if (!file)
		return report_nomem(lint->found);
	error = root_read("", path, MAX_LINT, &text, &size);
	if (error == EISDIR || error == ENOTSUP)
		return GPUMAP_OK;
	r = report_failure(error, path, lint->found);
	if (r != GPUMAP_OK)
		return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
	file->started = true;
	if ((start->list || start->visible >= 0) && (start->ranks > 0 || !start->launcher))
		file->job = JOB_KNOWN;
	else if (file->job == JOB_UNKNOWN)
		file->job = JOB_STARTED;
	lint->seen->bytes += size;
	r = seen_comments(file, (struct span){text, size}, LINT_PYTHON);
	r = r == GPUMAP_OK ? lint_reported(lint, (struct span){text, size}, file, start)
			   : report_nomem(lint->found);
	free(text);
	return r;
}

int lint_started_file(const struct lint *lint, const struct python_start *start, const char *from,
		      const char *name)
{
	char *path;
	int r = GPUMAP_OK;

	if (!find_program(&path, from, name, R_OK))
		return report_nomem(lint->found);
	if (path)
		r = lint_found_file(lint, start, path);
	free(path);
	return r;
}
