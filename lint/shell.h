/* SPDX-License-Identifier: MIT */
/*
 * Faults of shell scripts that can be found before anything starts. A lint reads one text and adds
 * findings with origin, line and column. The text of a finding that is not certain has "may".
 */
#ifndef GM_LINT_SHELL_H
#define GM_LINT_SHELL_H

#include "arena.h"
#include "gpumap.h"
#include "lint/launchers.h"
#include "lint/python.h"
#include "text.h"

/* A program that a script starts, with what the script shows of its job. */
struct lint_start {
	const char *path; /* as written in the script, relative to its working folder */
	enum lint_launcher launcher;
	/* Its job, but not what the script's file or the machine adds: lint/script.c. */
	struct python_start job;
	bool python;    /* path is a Python file */
	bool may;       /* a branch or a function decides whether it is started */
	bool moved;     /* it may start in another folder, or the script may make the file */
	bool list_kept; /* its list is the one that the script begins with */
	bool here;      /* its ranks see what the script sees, if this host runs it */
	int line, column;
	int list_line;
};

struct lint_started {
	struct arena arena; /* of starts and paths */
	struct lint_start *starts;
	size_t count, room;
};

void lint_started_free(struct lint_started *started);

/* Checks how a shell script sets the environment of its programs. `visible` is the number of
 * visible GPUs when it starts; -1: not known. `started` may be NULL. Findings do not make it fail.
 * GPUMAP_ELIMIT: the text is too large or too deeply nested. */
int lint_shell(struct span text, const char *origin, int64_t visible, struct lint_started *started,
	       gpumap_report *report);

/* The same for a command that begins in this line of another file. */
int lint_shell_from(struct span text, const char *origin, int line, struct lint_started *started,
		    gpumap_report *report);

#endif
