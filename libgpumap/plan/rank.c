/* SPDX-License-Identifier: MIT */
/* A rank of a plan, by its number. */
#include "plan/plan.h"

bool plan_rank(const gpumap_plan *plan, size_t rank, struct plan_rank *ret)
{
	if (rank >= plan->world_size)
		return false;
	ret->rank = rank;
	/* The last host that begins at or before the rank; hosts without ranks come before it. */
	ret->node = FIRST_PLACE(i, plan->host_count, plan->hosts[i].first_rank <= rank) - 1;
	ret->host = &plan->hosts[ret->node];
	ret->local_rank = rank - ret->host->first_rank;
	ret->local_size = ret->host->layout->count;
	ret->slot = &ret->host->layout->slots[ret->local_rank];
	return true;
}
