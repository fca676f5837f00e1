/* SPDX-License-Identifier: MIT */
/* gpumap lint checks files of any kind, folders of them, and the programs that they start. */
#ifndef GM_LINT_H
#define GM_LINT_H

#include "gpumap.h"

struct python_start;

enum lint_kind { LINT_UNKNOWN, LINT_PROFILE, LINT_SHELL, LINT_PYTHON, LINT_NOTEBOOK };

struct lint {
	gpumap_report *found;              /* the findings */
	gpumap_report *failures;           /* files that cannot be read */
	const gpumap_inventory *inventory; /* the machine; may be NULL */
	const char *machine;               /* as --inventory names it; NULL: not given */
	const char *launcher;              /* the launcher of Python files; NULL: not known */
	const char *profile;               /* the profile to read of each file; NULL: all */
	enum lint_kind as;                 /* LINT_UNKNOWN: each file shows its kind */
	/* what a plan gives the one file, which it starts; NULL: no plan does */
	const struct python_start *planned;
	struct lint_seen *seen; /* private to lint_files() */
	int depth;              /* ... : programs that start programs */
	/* The number of GPUs that a program sees on this host; -1: not known, or none. NULL: it is
	 * not looked for. */
	int64_t (*visible_here)(void);
	/* Reports why the profile could not be launched. `start` gets what its plan gives the
	 * program, if it can be planned; the caller frees the plan after it. */
	gpumap_plan *(*check_launch)(const struct lint *lint, gpumap_profile *profile,
				     struct python_start *start, gpumap_report *report);
};

/* "profile", "shell" or "python"; LINT_UNKNOWN: another word. */
enum lint_kind lint_kind_named(const char *word);

/* Reads files ("-" is standard input), the programs in folders, and the Python files that these
 * start. Reports each finding once, whatever the order of the files, and reports comments that hide
 * no finding. GPUMAP_EFILE. GPUMAP_EINPUT: a file is of no known kind. GPUMAP_ELIMIT. */
int lint_files(const struct lint *lint, const char *const *paths, size_t count);

/* Compares the file that a plan starts, a Python program or a script, and the Python files that a
 * script starts, with what the plan gives it. A file that is neither, or cannot be read, has no
 * findings. */
void lint_planned(const struct python_start *planned, const char *path, gpumap_report *found);

#endif
