/* SPDX-License-Identifier: MIT */
#include "lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "readfile.h"
#include "report.h"

static const char *const kinds[] = {
	[LINT_PROFILE] = "profile", [LINT_SHELL] = "shell", [LINT_PYTHON] = "python"};

enum lint_kind lint_kind_named(const char *word)
{
	for (size_t i = LINT_PROFILE; i < ARRAY_SIZE(kinds); i++)
		if (streq(kinds[i], word))
			return (enum lint_kind)i;
	return LINT_UNKNOWN;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && streq(text + n - m, end);
}

/* #!/usr/bin/env -S python3 -u, #!/bin/bash */
static enum lint_kind kind_of_first_line(struct span text)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
	struct span line, word;

	if (!span_starts(text, "#!") || !span_split(&text, '\n', &line))
		return LINT_UNKNOWN;
	line = span_trim((struct span){line.text + 2, line.length - 2});
	while (span_split(&line, ' ', &word)) {
		const char *slash = memrchr(word.text, '/', word.length);

		word = span_trim(word);
		if (slash)
			word = (struct span){slash + 1,
					     word.length - (size_t)(slash + 1 - word.text)};
		if (span_starts(word, "python"))
			return LINT_PYTHON;
		for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
			if (span_is(word, shells[i]))
				return LINT_SHELL;
	}
	return LINT_UNKNOWN;
}

/* Only profiles begin with a section. */
static enum lint_kind kind_of_first_section(struct span text)
{
	struct span line;

	while (text.text && span_split(&text, '\n', &line)) {
		line = span_trim(line);
		if (line.length && *line.text != '#' && *line.text != ';')
			return *line.text == '[' && line.text[line.length - 1] == ']'
				       ? LINT_PROFILE
				       : LINT_UNKNOWN;
	}
	return LINT_UNKNOWN;
}

enum lint_kind lint_kind_of(const char *path, struct span text)
{
	static const struct {
		const char *end;
		enum lint_kind kind;
	} ends[] = {{".ini", LINT_PROFILE}, {".py", LINT_PYTHON},    {".sh", LINT_SHELL},
		    {".bash", LINT_SHELL},  {".sbatch", LINT_SHELL}, {".slurm", LINT_SHELL}};
	enum lint_kind kind;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends_with(path, ends[i].end))
			return ends[i].kind;
	kind = kind_of_first_line(text);
	return kind != LINT_UNKNOWN ? kind : kind_of_first_section(text);
}

int lint_read(char **text, size_t *size, const char *path, gpumap_report *report)
{
	int error = read_file(path, true, MAX_LINT, text, size);

	if (!error)
		return GPUMAP_OK;
	if (error == ENOMEM)
		return report_nomem(report);
	if (error == EFBIG)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = path),
				   "larger than %d MiB", MAX_LINT >> 20);
	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS, ABOUT(.origin = path),
			   "cannot read the file: %s", strerror(error));
}

static int lint_program(struct lint *lint, struct span text, const char *path)
{
	struct python_start start = {lint->launcher, -1, lint->inventory};

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

int lint_started_file(struct lint *lint, const struct python_start *start, const char *from,
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

static int lint_text(struct lint *lint, struct span text, const char *path)
{
	enum lint_kind kind = lint->as ? lint->as : lint_kind_of(path, text);

	switch (kind) {
	case LINT_PROFILE:
		return lint_profiles(lint, text, path);
	case LINT_SHELL:
		return lint_script(lint, text, path);
	case LINT_PYTHON:
		return lint_program(lint, text, path);
	default:
		return report_fail(
			lint->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = path, .fix = "say --as profile, shell or python"),
			"neither its name nor its first line says what it is");
	}
}

int lint_file(struct lint *lint, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	int r = lint_read(&text, &size, path, lint->output.report);

	if (r == GPUMAP_OK)
		r = lint_text(lint, (struct span){text, size}, path);
	free(text);
	return r;
}
