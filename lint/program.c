/* SPDX-License-Identifier: MIT */
/* Python files, by themselves or started by another file. */
#include "lint/files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "lint/shell.h"
#include "memory.h"
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
static void lint_reported(const struct lint *lint, struct span text, struct seen_file *file,
			  const struct python_start *start)
{
	CLEANUP(lint_started_free) struct lint_started started = {0};
	struct python_start collecting = *start;
	OWNED(report) *report = new_report();

	/* What a rank starts itself has no ranks of the plan. */
	collecting.started = lint->planned ? NULL : &started;
	lint_python(text, file->path, &collecting, report);
	seen_relay(lint, file, report, true);
	lint_programs(lint, &started, file);
}

void lint_program(const struct lint *lint, struct span text, struct seen_file *file)
{
	const struct launcher *launcher = lint_launcher_of(lint->launcher);
	struct python_start start = python_start_unknown();

	start.launcher = lint->launcher;
	start.inventory = lint->inventory;
	if (launcher)
		start.passes = launcher->passes;
	lint_reported(lint, text, file, lint->planned ? lint->planned : &start);
}

/* A file relative to `from`, else to the current folder. NULL: it is in neither place, or access()
 * by `mode` fails. The caller frees it. */
static char *find_program(const char *from, const char *path, int mode)
{
	const char *slash = strrchr(from, '/');
	struct strbuf buf = {0};

	if (*path != '/' && slash) {
		strbuf_printf(&buf, "%.*s/%s", (int)(slash - from), from, path);
		if (access(buf.text, mode) == 0)
			return strbuf_take(&buf);
		strbuf_free(&buf);
	}
	return access(path, mode) == 0 ? xstrdup(path) : NULL;
}

bool lint_lacks(const char *from, const char *name)
{
	CLEANUP_FREE char *path = find_program(from, name, F_OK);

	return !path;
}

bool lint_needs_no_gpu(const char *from, const char *name)
{
	static const char *const words[] = {"cuda", "nccl", "gpu", "accelera"};
	CLEANUP_FREE char *path = find_program(from, name, F_OK), *text = NULL;
	size_t size = 0;
	bool ret = path && root_read("", path, MAX_LINT, &text, &size) == 0;

	for (size_t i = 0; i < ARRAY_SIZE(words) && ret; i++)
		ret = !span_has((struct span){text, size}, words[i]);
	return ret;
}

/* The name may be a folder that Python executes, or what is no program: a pipe, a device. */
static void lint_found_file(const struct lint *lint, const struct python_start *start,
			    const char *path)
{
	struct seen_file *file = seen_file(lint->seen, path);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int error = root_read("", path, MAX_LINT, &text, &size);

	if (error == EISDIR || error == ENOTSUP ||
	    report_failure(error, path, lint->found) != GPUMAP_OK)
		return;
	file->started = true;
	if ((start->list || start->visible >= 0) && (start->ranks > 0 || !start->launcher))
		file->job = JOB_KNOWN;
	else if (file->job == JOB_UNKNOWN)
		file->job = JOB_STARTED;
	lint->seen->bytes += size;
	seen_comments(file, (struct span){text, size}, LINT_PYTHON);
	lint_reported(lint, (struct span){text, size}, file, start);
}

void lint_started_file(const struct lint *lint, const struct python_start *start, const char *from,
		       const char *name)
{
	CLEANUP_FREE char *path = find_program(from, name, R_OK);

	if (path)
		lint_found_file(lint, start, path);
}
