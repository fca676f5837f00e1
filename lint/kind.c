/* SPDX-License-Identifier: MIT */
/* What a file is, by its name, its first line or its first section. */
#include "lint/files.h"

#include <stdlib.h>
#include <string.h>

#include "profile_keys.h"

static const char *const kinds[] = {
	[LINT_PROFILE] = "profile", [LINT_SHELL] = "shell", [LINT_PYTHON] = "python"};

enum lint_kind lint_kind_named(const char *word)
{
	for (size_t i = LINT_PROFILE; i < ARRAY_SIZE(kinds); i++)
		if (streq(kinds[i], word))
			return (enum lint_kind)i;
	return LINT_UNKNOWN;
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

/* A profile begins with a section; `known`: with one of gpumap's. */
static enum lint_kind kind_of_first_section(struct span text, bool known)
{
	struct span line, word;

	while (text.text && span_split(&text, '\n', &line)) {
		line = span_trim(line);
		if (!line.length || *line.text == '#' || *line.text == ';')
			continue;
		if (*line.text != '[' || line.text[line.length - 1] != ']')
			return LINT_UNKNOWN;
		line = (struct span){line.text + 1, line.length - 2};
		span_split(&line, ' ', &word);
		for (int i = 0; i < SECTION_COUNT; i++)
			if (span_is(word, section_name((enum profile_section)i)))
				return LINT_PROFILE;
		return known ? LINT_UNKNOWN : LINT_PROFILE;
	}
	return LINT_UNKNOWN;
}

enum lint_kind lint_kind_by_name(const char *path)
{
	static const struct {
		const char *end;
		enum lint_kind kind;
	} ends[] = {{".ini", LINT_PROFILE}, {".py", LINT_PYTHON},    {".sh", LINT_SHELL},
		    {".bash", LINT_SHELL},  {".sbatch", LINT_SHELL}, {".slurm", LINT_SHELL}};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends(path, ends[i].end))
			return ends[i].kind;
	return LINT_UNKNOWN;
}

enum lint_kind lint_kind_by_head(const char *path, struct span head)
{
	if (lint_kind_by_name(path) == LINT_PROFILE)
		return kind_of_first_section(head, true);
	return kind_of_first_line(head);
}

enum lint_kind lint_kind_of(const char *path, struct span text)
{
	enum lint_kind kind = lint_kind_by_name(path);

	kind = kind != LINT_UNKNOWN ? kind : kind_of_first_line(text);
	return kind != LINT_UNKNOWN ? kind : kind_of_first_section(text, false);
}
