/* SPDX-License-Identifier: MIT */
/* Findings about a Python file that is started on GPUs. */
#ifndef GM_LINT_PYTHON_H
#define GM_LINT_PYTHON_H

#include "report.h"
#include "text.h"

/* How the file is started, if that is known. */
struct python_start {
	const char *launcher; /* "torchrun", "launch", "srun", ...; NULL: not known */
	/* whether the local rank is passed as an argument: 1 yes, 0 no, -1 not known */
	int passes;
	const gpumap_inventory *inventory; /* the machine; may be NULL */
	bool together;                     /* the host starts it again while it runs */
	bool alone;                        /* the launcher starts one process */
};

/* The known launchers, and whether they pass the local rank; ends with NULL. */
struct python_launcher {
	const char *name;
	int passes;
};
extern const struct python_launcher python_launchers[];

/* Reports errors and possible errors in the order of the source. `start` may be NULL.
 * GPUMAP_ENOMEM. */
int lint_python(struct span text, const char *origin, const struct python_start *start,
		gpumap_report *report);

/* How a program picks its device (rule R3), if gpumap understands all that it does with devices:
 * the value for the key `device`, such as "cuda:%l", and the line that shows it. The text is empty
 * if it is not known. */
struct python_device {
	char text[32];
	int line;
};
int lint_python_device(struct span text, struct python_device *ret);

#endif
