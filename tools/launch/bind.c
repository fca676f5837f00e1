/* SPDX-License-Identifier: MIT */
/* See bind.h. */
#include "bind.h"

#include <linux/mempolicy.h>

#include "cpuset.h"

bool rank_bind(struct launch_rank *rank, struct arena *arena, const char *cpus, const char *nodes,
	       bool strict)
{
	struct cpu_set set;

	if (cpus && !cpu_set_parse(arena, &set, span_of(cpus)))
		return false;
	if (cpus) {
		rank->cpus = set.words;
		rank->cpus_size = set.count * sizeof(*set.words);
	}
	if (!nodes)
		return !arena->failed;
	if (!cpu_set_parse(arena, &set, span_of(nodes)) || arena->failed)
		return false;
	rank->mem_nodes = (const unsigned long *)(const void *)set.words;
	/* The kernel reads one bit less than this number. */
	rank->mem_bits = cpu_set_end(set) + 1;
	rank->mem_policy = strict ? MPOL_BIND : MPOL_PREFERRED;
	return true;
}
