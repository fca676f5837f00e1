/* SPDX-License-Identifier: MIT */
/* See launchers.h. */
#include "lint/launchers.h"

const struct launcher lint_launchers[LINT_LAUNCHERS] = {
	[LINT_DIRECT] = {"the shell", NULL, NULL, false},
	[LINT_TORCHRUN] = {"torchrun", "torchrun", "torch.distributed.run", false},
	[LINT_TORCH_LAUNCH] = {"torch.distributed.launch", "launch", "torch.distributed.launch",
			       true},
	[LINT_SRUN] = {"srun", "srun", NULL, false},
	[LINT_MPIRUN] = {"mpirun", "mpirun", NULL, false},
	[LINT_GPUMAP] = {"gpumap run", "gpumap", NULL, false},
	[LINT_ACCELERATE] = {"accelerate", "accelerate", "accelerate.commands.launch", false},
	[LINT_DEEPSPEED] = {"deepspeed", "deepspeed", "deepspeed.launcher.runner", true},
};

const struct launcher *lint_launcher_of(const char *option)
{
	for (size_t i = LINT_DIRECT + 1; option && i < LINT_LAUNCHERS; i++)
		if (streq(lint_launchers[i].option, option))
			return &lint_launchers[i];
	return NULL;
}

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
