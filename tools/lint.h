/* SPDX-License-Identifier: MIT */
/* What the files of gpumap lint share. */
#ifndef GM_TOOLS_LINT_H
#define GM_TOOLS_LINT_H

#include "command.h"
#include "profile_open.h"
#include "strbuf.h"
#include "text.h"

/* A file is not larger than this (64 MiB); a profile is bounded by the library. */
enum { MAX_LINT = 64 << 20 };

enum lint_kind { LINT_UNKNOWN, LINT_PROFILE, LINT_SHELL, LINT_PYTHON };

struct lint {
	struct output output; /* its report: errors of the command line, files not read */
	gpumap_report *found; /* the answer */
	struct profile_options options;
	const char *what;            /* --inventory */
	const char *launcher;        /* --launcher */
	enum lint_kind as;           /* --as */
	gpumap_inventory *inventory; /* where --inventory was given */
	const char **files;
	int count;
};

/* --- lint_file.c ------------------------------------------------------------------------ */

/* "profile", "shell" or "python"; LINT_UNKNOWN: another word. */
enum lint_kind lint_kind_named(const char *word);

/* By the name, the first line or the first section; LINT_UNKNOWN: it is none of them. */
enum lint_kind lint_kind_of(const char *path, struct span text);

/* All of a file, "-" being standard input, for the caller to free; failures go to `report`. As
 * lint_file. */
int lint_read(char **text, size_t *size, const char *path, gpumap_report *report);

/* A Python file that the file `from` starts, where there is one. GPUMAP_ENOMEM. */
struct python_start;
int lint_started_file(struct lint *lint, const struct python_start *start, const char *from,
		      const char *name);

/* Reads a file, "-" being standard input, and reports what is found in it. GPUMAP_EFILE,
 * GPUMAP_EINPUT (of no kind), GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int lint_file(struct lint *lint, const char *path);

/* --- lint_profile.c --------------------------------------------------------------------- */

/* One profile of the file, or all of them. GPUMAP_ENOMEM. */
int lint_profiles(struct lint *lint, struct span text, const char *path);

/* The file that gpumap config would read, if there is one. GPUMAP_ENOMEM. */
int lint_default_profile(struct lint *lint);

/* --- lint_script.c ---------------------------------------------------------------------- */

/* A shell script, and the Python files that it starts. GPUMAP_ENOMEM. */
int lint_script(struct lint *lint, struct span text, const char *path);

/* --- lint_relay.c ----------------------------------------------------------------------- */

/* Findings of another report that are not there yet: what is read twice is told once. */
void lint_relay(gpumap_report *to, const gpumap_report *from);

/* --- lint_print.c ----------------------------------------------------------------------- */

/* Prints the findings, one by one or as JSON; false after a finding when that fails. */
bool lint_print(const struct lint *lint);

#endif
