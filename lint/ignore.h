/* SPDX-License-Identifier: MIT */
/* Comments that hide findings: "# gpumap: ignore" and "# gpumap: ignore=GM007,GM220". Other forms
 * that people write are read too: ignore[GM007], ignore: GM007, ignore GM007. */
#ifndef GM_LINT_IGNORE_H
#define GM_LINT_IGNORE_H

#include "arena.h"
#include "lint/lint.h"
#include "text.h"

struct ignore {
	struct span ids; /* GM007,GM220; .text NULL: every id */
	const char *at;  /* in the text of the file, while it is read */
	int line, column;
	int from, to; /* the lines whose findings it hides; 0: none */
	int reach;    /* the last line that this comment or an earlier one in the list hides */
	bool alone;   /* on a line of its own */
	bool quoted;  /* in a string, so it is not a comment */
	bool odd;     /* what it names are not ids */
	bool noqa;    /* # noqa of other linters, which hides nothing */
	bool job;     /* its line has what only a job makes a mistake: a device, a rank */
	bool used;    /* it hides a finding, or with `noqa` stands beside one */
};

struct ignores {
	struct arena arena; /* of ids */
	struct ignore *list;
	size_t count, room;
};

/* Reads the comments of a file. A comment is about the Python statement or the shell command in its
 * line, with all lines of that. A comment on a line of its own is about the next statement or
 * command. */
void ignores_read(struct ignores *ret, struct span text, enum lint_kind kind);
void ignores_free(struct ignores *ignores);

/* Whether a comment hides the finding. If so, the comment counts as used. */
bool ignores_hide(struct ignores *ignores, const gpumap_finding *finding);

/* What is known of the job of a file's program: nothing, what starts it, its GPUs and ranks too. */
enum job_known { JOB_UNKNOWN, JOB_STARTED, JOB_KNOWN };

/* Reports the comments that are not used, and the first # noqa beside a finding. A comment may hide
 * a finding that the file's job would show if it were known. */
void ignores_report(const struct ignores *ignores, const char *origin, enum job_known job,
		    gpumap_report *report);

#endif
