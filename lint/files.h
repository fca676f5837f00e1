/* SPDX-License-Identifier: MIT */
/* Shared by the readers of files. */
#ifndef GM_LINT_FILES_H
#define GM_LINT_FILES_H

#include "arena.h"
#include "lint/lint.h"
#include "lint/read_files.h"
#include "text.h"

struct python_start;

/* Reads all of a file ("-" is standard input); the caller frees *text. Failures go to `report`.
 * Returns the codes of lint_files(). */
int lint_read(char **text, size_t *size, const char *path, gpumap_report *report);

/* Checks a Python file. */
void lint_program(const struct lint *lint, struct span text, struct seen_file *file);

/* Checks a Python file that the file `from` starts, if the Python file exists. */
void lint_started_file(const struct lint *lint, const struct python_start *start, const char *from,
		       const char *name);

/* Whether a file that `from` starts exists neither relative to it nor in the current folder. */
bool lint_lacks(const char *from, const char *name);

/* Whether such a file exists, and nothing in it looks like GPUs. */
bool lint_needs_no_gpu(const char *from, const char *name);

/* Checks one profile of the file, or all of them. */
void lint_profiles(const struct lint *lint, struct span text, struct seen_file *file);

/* useless_settings.c: reports settings of the chosen profile, whose variables must be known, that
 * cannot work together, or do nothing. It reports nothing that needs a plan. */
void lint_settings(const gpumap_profile *profile, gpumap_report *report);

/* Checks a shell script, and the Python files that it starts. */
void lint_script(const struct lint *lint, struct span text, struct seen_file *file);

struct lint_started;
/* Checks the Python files that a script or a command of a program starts; `from` is that file. */
void lint_programs(const struct lint *lint, struct lint_started *started, struct seen_file *from);
/* Checks a notebook of Jupyter. */
void lint_notebook(const struct lint *lint, struct span text, struct seen_file *file);

/* --- file_kind.c -------------------------------------------------------------------------- */

/* The kind of a file, by its name alone; by its name and its text. */
enum lint_kind lint_kind_by_name(const char *path);
enum lint_kind lint_kind_of(const char *path, struct span text);
/* The kind of a file whose name does not show it, by the beginning of its text. A profile has a
 * section of gpumap. */
enum lint_kind lint_kind_by_head(const char *path, struct span head);
/* The kind of a file that is said to be `as`: a notebook is one whatever it is said to be, and JSON
 * is not Python, so that is LINT_UNKNOWN. */
enum lint_kind lint_kind_beside(enum lint_kind as, const char *path, struct span text);
/* What a file of an unknown kind is: "a YAML file"; NULL: not known. */
const char *lint_other_kind(const char *path, struct span text);

/* --- folder.c ----------------------------------------------------------------------------- */

struct lint_paths {
	struct arena arena;
	char **list;
	size_t count, room;
};

bool lint_is_folder(const char *path);

void lint_add_path(struct lint_paths *ret, const char *path);

/* Adds the programs in a folder and in the folders inside it, ordered by name, and skips files that
 * are not programs. It passes over folders in which programs are installed and reports that, unless
 * `path` is such a folder itself. GPUMAP_EFILE. */
int lint_folder(struct lint_paths *ret, const char *path, gpumap_report *found,
		gpumap_report *report);

#endif
