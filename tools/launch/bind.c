/* SPDX-License-Identifier: MIT */
/* See bind.h. */
#include "bind.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuset.h"
#include "report/report.h"

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

static bool set_cpus(const struct launch_rank *rank)
{
	return !rank->cpus || syscall(SYS_sched_setaffinity, 0, rank->cpus_size, rank->cpus) == 0;
}

static bool set_memory(const struct launch_rank *rank)
{
	return !rank->mem_nodes ||
	       syscall(SYS_set_mempolicy, rank->mem_policy, rank->mem_nodes, rank->mem_bits) == 0;
}

/* The properties that a rank's process gets before it executes its program, in this order. */
static const struct {
	bool (*set)(const struct launch_rank *rank);
	struct bind_failure failure;
} bindings[] = {
	{set_cpus,
	 {"cannot be bound to its cores",
	  SETTING("cpu_bind = none") " leaves the cores as they are"}},
	{set_memory,
	 {"cannot be bound to its memory",
	  SETTING("mem_bind = none") " leaves the memory as it is"}},
};

const struct bind_failure *bind_failure(enum stage stage)
{
	return stage < STAGE_BIND ? NULL : &bindings[stage - STAGE_BIND].failure;
}

bool rank_settle(const struct launch_rank *rank, enum stage *stage)
{
	*stage = STAGE_FOLDER;
	if (rank->folder && chdir(rank->folder) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
		*stage = (enum stage)(STAGE_BIND + i);
		if (!bindings[i].set(rank))
			return false;
	}
	return true;
}
