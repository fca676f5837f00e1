/* SPDX-License-Identifier: MIT */
/* Comments that hide findings: "# gpumap: ignore" and "# gpumap: ignore=GM007,GM220". */
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
	int reach;    /* the last line of this one and of those before it in the list */
	bool alone;   /* on a line of its own */
	bool quoted;  /* in a string: no comment */
	bool used;
};

struct ignores {
	struct arena arena; /* of ids */
	struct ignore *list;
	size_t count, room;
};

/* Reads the comments of a file. Each is about the statement of Python or the command of the shell
 * in its line, with the lines that continue it; one on a line of its own is about the next one.
 * GPUMAP_ENOMEM. */
int ignores_read(struct ignores *ret, struct span text, enum lint_kind kind);
void ignores_free(struct ignores *ignores);

/* Whether a comment hides a finding; it is used then. */
bool ignores_hide(struct ignores *ignores, const gpumap_finding *finding);

/* Reports the comments that are not used. */
void ignores_report(const struct ignores *ignores, const char *origin, gpumap_report *report);

#endif
