/* SPDX-License-Identifier: MIT */
#include "binding.h"

#include <linux/mempolicy.h>

#include "plan/cpuset.h"
#include "plan/plan.h"

#ifndef MPOL_PREFERRED_MANY
#define MPOL_PREFERRED_MANY 5 /* Linux 5.15 */
#endif

static bool parse(struct arena *arena, struct cpu_set *ret, const char *list)
{
	return list && *list && cpu_set_parse(arena, ret, span_of(list), PLAN_MAX_CPUS - 1) &&
	       cpu_set_size(*ret);
}

struct binding binding_make(struct arena *arena, const char *cpus, const char *nodes, bool strict)
{
	struct binding binding = {.cpus = NULL};
	struct cpu_set set;

	if (parse(arena, &set, cpus)) {
		binding.cpus = set.words;
		binding.cpus_size = set.count * sizeof(*set.words);
	}
	if (parse(arena, &set, nodes)) {
		binding.nodes = (const unsigned long *)set.words;
		/* The kernel looks at one bit less than it is told. */
		binding.node_bits = set.count * 64 + 1;
		binding.policy = strict                  ? MPOL_BIND
				 : cpu_set_size(set) > 1 ? MPOL_PREFERRED_MANY
							 : MPOL_PREFERRED;
	}
	return binding;
}
