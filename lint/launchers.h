/* SPDX-License-Identifier: MIT */
/* The programs that start ranks. */
#ifndef GM_LINT_LAUNCHERS_H
#define GM_LINT_LAUNCHERS_H

#include "text.h"

/* What starts a program. */
enum lint_launcher {
	LINT_DIRECT, /* the shell itself */
	LINT_TORCHRUN,
	LINT_TORCH_LAUNCH, /* python -m torch.distributed.launch */
	LINT_SRUN,
	LINT_MPIRUN,
	LINT_GPUMAP,
	LINT_ACCELERATE,
	LINT_DEEPSPEED,
	LINT_LAUNCHERS
};

struct launcher {
	const char *name;   /* "torch.distributed.launch" */
	const char *option; /* of --launcher, and for the reader of Python: "launch" */
	const char *module; /* of Python, which starts it; NULL: none does */
	bool passes;        /* the local rank, as an argument */
};
extern const struct launcher lint_launchers[LINT_LAUNCHERS];

/* "torchrun", ...; "the shell" for LINT_DIRECT. */
static inline const char *lint_launcher_name(enum lint_launcher launcher)
{
	return lint_launchers[launcher].name;
}

/* The launcher that a text names by --launcher; NULL: none. */
const struct launcher *lint_launcher_of(const char *option);

struct launcher_program {
	const char *name;
	const char *command; /* the word after it, without which it launches nothing; NULL: any */
	enum lint_launcher launcher;
};
extern const struct launcher_program launcher_programs[]; /* ends with a name of NULL */

/* The launcher of that name; NULL: it is another program. */
const struct launcher_program *launcher_program(struct span name);

#endif
