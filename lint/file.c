/* SPDX-License-Identifier: MIT */
/* What a file is, by its name, its first line or its first section. */
#include "lint/files.h"

#include <stdlib.h>
#include <string.h>

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

static enum lint_kind kind_of(const char *path, struct span text)
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

static int lint_text(const struct lint *lint, struct span text, const char *path)
{
	enum lint_kind kind = lint->as ? lint->as : kind_of(path, text);

	switch (kind) {
	case LINT_PROFILE:
		return lint_profiles(lint, text, path);
	case LINT_SHELL:
		return lint_script(lint, text, path);
	case LINT_PYTHON:
		return lint_program(lint, text, path);
	default:
		return report_fail(
			lint->failures, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = path, .fix = "say --as profile, shell or python"),
			"neither its name nor its first line says what it is");
	}
}

int lint_file(const struct lint *lint, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	int r = lint_read(&text, &size, path, lint->failures);

	if (r == GPUMAP_OK)
		r = lint_text(lint, (struct span){text, size}, path);
	free(text);
	return r;
}
