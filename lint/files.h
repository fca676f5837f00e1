/* SPDX-License-Identifier: MIT */
/* What the readers of files share; they return GPUMAP_ENOMEM alone. */
#ifndef GM_LINT_FILES_H
#define GM_LINT_FILES_H

#include "lint/lint.h"
#include "text.h"

struct python_start;

/* All of a file, "-" being standard input, for the caller to free; failures go to `report`. As
 * lint_file. */
int lint_read(char **text, size_t *size, const char *path, gpumap_report *report);

/* A Python file. */
int lint_program(const struct lint *lint, struct span text, const char *path);

/* A Python file that the file `from` starts, where there is one. */
int lint_started_file(const struct lint *lint, const struct python_start *start, const char *from,
		      const char *name);

/* One profile of the file, or all of them. */
int lint_profiles(const struct lint *lint, struct span text, const char *path);

/* A shell script, and the Python files that it starts. */
int lint_script(const struct lint *lint, struct span text, const char *path);

/* Findings of another report that are not there yet: a file that is read twice is reported once. */
void lint_relay(gpumap_report *to, const gpumap_report *from);

#endif
