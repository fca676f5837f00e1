/* SPDX-License-Identifier: MIT */
/* Cores for the ranks of a host: bind_cores.c finds those near their GPUs and binds ranks to them,
 * divide_cores.c divides them. */
#ifndef GM_PLAN_CORES_H
#define GM_PLAN_CORES_H

#include "plan/build.h"

/* The cores that a local rank wants, and those that it gets. */
struct share {
	size_t local_rank;
	struct cpu_set near; /* inside what is allowed */
	struct cpu_set cpus; /* the answer */
	size_t cores;        /* whole cores in the answer */
	size_t users;        /* ranks that run on them: 1, or the number that share them */
};

struct division {
	struct arena *arena;
	const size_t *unit_of; /* CPU to core: the lowest number of its CPUs */
	size_t end;            /* the end of the CPU numbers */
	struct share *shares;
	size_t count;
	size_t max; /* cores for each; 0: as many as there are */
	/* the least number of cores that a share got; SIZE_MAX: no share was made */
	size_t fewest;
	size_t crowded; /* shares without a core of their own */
};

/* Gives shares with equal sets equal parts without overlap. If there are fewer cores than shares,
 * each of them gets the whole set. False without memory. */
bool divide_cores(struct division *d);
/* The cores of a set of CPUs. */
struct cpu_set cores_of(const struct division *d, struct cpu_set cpus);

#endif
