/* SPDX-License-Identifier: MIT */
/* See launchers.h. */
#include "lint/launchers.h"

const struct launcher_program launcher_programs[] = {
	{"torchrun", NULL, LINT_TORCHRUN},   {"accelerate", "launch", LINT_ACCELERATE},
	{"deepspeed", NULL, LINT_DEEPSPEED}, {"mpirun", NULL, LINT_MPIRUN},
	{"mpiexec", NULL, LINT_MPIRUN},      {"orterun", NULL, LINT_MPIRUN},
	{"horovodrun", NULL, LINT_MPIRUN},   {"srun", NULL, LINT_SRUN},
	{"gpumap", "run", LINT_GPUMAP},      {NULL, NULL, LINT_DIRECT},
};

const struct launcher_program *launcher_program(struct span name)
{
	for (const struct launcher_program *p = launcher_programs; p->name; p++)
		if (span_is(name, p->name))
			return p;
	return NULL;
}
