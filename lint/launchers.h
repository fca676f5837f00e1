/* SPDX-License-Identifier: MIT */
/* The programs that start ranks. */
#ifndef GM_LINT_LAUNCHERS_H
#define GM_LINT_LAUNCHERS_H

#include "lint/shell.h"

struct launcher_program {
	const char *name;
	const char *command; /* the word after it, without which it launches nothing; NULL: any */
	enum lint_launcher launcher;
};
extern const struct launcher_program launcher_programs[]; /* ends with a name of NULL */

/* The launcher of that name; NULL: it is another program. */
const struct launcher_program *launcher_program(struct span name);

#endif
