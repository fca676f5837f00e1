/* SPDX-License-Identifier: MIT */
/* Cores for the ranks of a host: cores.c says which are near, shares.c divides them. */
#ifndef GM_PLAN_CORES_H
#define GM_PLAN_CORES_H

#include "plan/build.h"

/* A local rank's wish, and what it gets. */
struct share {
	size_t local_rank;
	struct cpu_set near; /* inside what is allowed */
	struct cpu_set cpus; /* the answer */
	size_t cores;        /* whole ones in the answer */
	size_t users;        /* ranks that run on them: 1, or all that share */
};

struct division {
	struct arena *arena;
	const size_t *unit_of; /* CPU to core: the lowest number of its CPUs */
	size_t end;            /* CPUs are below */
	struct share *shares;
	size_t count;
	size_t max;     /* cores for each; 0: as many as there are */
	size_t fewest;  /* cores that some share got; SIZE_MAX: none has been made */
	size_t crowded; /* shares without a core of their own */
};

/* Gives shares with equal sets equal parts without overlap; where there are fewer cores
 * than shares all of these get the whole set. False without memory. */
bool divide_cores(struct division *d);
/* The cores of a set of CPUs. */
struct cpu_set cores_of(const struct division *d, struct cpu_set cpus);

#endif
