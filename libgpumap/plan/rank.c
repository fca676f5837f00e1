/* SPDX-License-Identifier: MIT */
/* A rank of a plan, by its number. */
#include "plan/plan.h"

bool plan_rank(const gpumap_plan *plan, size_t rank, struct plan_rank *ret)
{
	size_t low = 0, high = plan->host_count;

	if (rank >= plan->world_size)
		return false;
	/* Finds the last host that begins at or before the rank; hosts without ranks come before
	 * it. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (plan->hosts[middle].first_rank <= rank)
			low = middle;
		else
			high = middle;
	}
	ret->rank = rank;
	ret->node = low;
	ret->host = &plan->hosts[low];
	ret->local_rank = rank - ret->host->first_rank;
	ret->local_size = ret->host->layout->count;
	ret->slot = &ret->host->layout->slots[ret->local_rank];
	return true;
}
