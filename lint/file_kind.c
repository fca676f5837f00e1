/* SPDX-License-Identifier: MIT */
/* What a file is, by its name, its first line or its first section. */
#include "lint/files.h"

#include <string.h>
#include <strings.h>

#include "lint/notebook.h"
#include "request/profile_keys.h"

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
	struct span line, word;

	if (!span_starts(text, "#!") || !span_split(&text, '\n', &line))
		return LINT_UNKNOWN;
	line = span_trim(span_from(line, line.text + 2));
	while (span_split(&line, ' ', &word)) {
		word = base_name(span_trim(word));
		if (span_starts(word, "python"))
			return LINT_PYTHON;
		if (span_is_any(word, "sh bash dash ksh zsh"))
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
	} ends[] = {{".ini", LINT_PROFILE},   {".py", LINT_PYTHON},    {".sh", LINT_SHELL},
		    {".bash", LINT_SHELL},    {".sbatch", LINT_SHELL}, {".slurm", LINT_SHELL},
		    {".ipynb", LINT_NOTEBOOK}};

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
	bool cells;

	kind = kind != LINT_UNKNOWN ? kind : kind_of_first_line(text);
	/* TOML has sections too. */
	if (kind == LINT_UNKNOWN)
		kind = kind_of_first_section(text, lint_other_kind(path, text));
	if (kind == LINT_UNKNOWN && notebook_recognise(text, &cells) && cells)
		return LINT_NOTEBOOK;
	return kind;
}

enum lint_kind lint_kind_beside(enum lint_kind as, const char *path, struct span text)
{
	bool cells;

	if (lint_kind_by_name(path) == LINT_NOTEBOOK)
		return LINT_NOTEBOOK;
	if (as != LINT_PYTHON || !notebook_recognise(text, &cells))
		return as;
	return cells ? LINT_NOTEBOOK : LINT_UNKNOWN;
}

/* --- what is not read -------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), n = strlen(end);

	return length >= n && strcasecmp(path + length - n, end) == 0;
}

static const char *other_by_name(const char *path)
{
	static const struct {
		const char *end, *what;
	} ends[] = {{".yml", "a YAML file"},
		    {".yaml", "a YAML file"},
		    {".ps1", "a PowerShell script"},
		    {".psm1", "a PowerShell module"},
		    {".bat", "a batch script of Windows"},
		    {".cmd", "a batch file"},
		    {".toml", "a TOML file"},
		    {".json", "a JSON file"},
		    {".jsonl", "a JSON file"},
		    {".xml", "an XML file"},
		    {".md", "a Markdown file"},
		    {".fish", "a script of fish"},
		    {".csh", "a script of csh"},
		    {".tcsh", "a script of csh"},
		    {".dockerfile", "a Dockerfile"},
		    {"makefile", "a makefile"},
		    {".mk", "a makefile"}};
	const char *name = file_name(path);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends_with(name, ends[i].end))
			return ends[i].what;
	if (strncasecmp(name, "dockerfile", 10) == 0 || strncasecmp(name, "containerfile", 13) == 0)
		return "a Dockerfile";
	return NULL;
}

/* services:, image: x; not try: and x: int = 1 of Python. */
static bool is_yaml_key(struct span line)
{
	size_t n = 0;

	if (span_is(span_trim(line), "try:") || memchr(line.text, '=', line.length))
		return false;

	while (n < line.length && (is_alphanumeric(line.text[n]) || strchr("_-.", line.text[n])))
		n++;
	return n && n < line.length && line.text[n] == ':' &&
	       (n + 1 == line.length || line.text[n + 1] == ' ');
}

/* By the first line that is no comment. */
static const char *other_by_text(struct span text)
{
	struct span line;
	bool cells;

	if (notebook_recognise(text, &cells))
		return cells ? NULL : "a JSON file";
	while (text.text && span_split(&text, '\n', &line)) {
		struct span trimmed = span_trim(line);

		if (!trimmed.length || *trimmed.text == '#')
			continue;
		if (span_is(trimmed, "---") || span_starts(trimmed, "%YAML") || is_yaml_key(line))
			return "a YAML file";
		if (trimmed.length >= 9 && strncasecmp(trimmed.text, "@echo off", 9) == 0)
			return "a batch script of Windows";
		return span_starts(line, "FROM ") ? "a Dockerfile" : NULL;
	}
	return NULL;
}

const char *lint_other_kind(const char *path, struct span text)
{
	const char *what = other_by_name(path);

	return what ? what : other_by_text(text);
}
