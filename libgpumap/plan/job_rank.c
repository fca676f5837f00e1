/* SPDX-License-Identifier: MIT */
/* A rank of a plan, by its number, and the values of its settings. */
#include "plan/job.h"

#include "profile/profile.h"

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
	ret->local = &ret->host->layout->ranks[ret->local_rank];
	return true;
}

bool job_rank_at(const gpumap_plan *plan, int64_t rank, struct job_rank *ret)
{
	struct plan_rank at;

	if (rank < 0 || !plan_rank(plan, (size_t)rank, &at))
		return false;
	*ret = (struct job_rank){
		.rank = rank,
		.world_size = (int64_t)plan->world_size,
		.local_rank = (int64_t)at.local_rank,
		.local_size = (int64_t)at.local_size,
		.node = (int64_t)at.node,
		.nodes = (int64_t)plan->host_count,
		.row = rank,
		.host = at.host->name,
		.local = at.local,
		.device_order = at.host->layout->device_order,
	};
	return true;
}

struct macros job_macros(const gpumap_plan *plan, const struct job_rank *at, const char *stream)
{
	return (struct macros){at->rank, at->local_rank, at->node, at->host, plan->run, stream};
}

int job_expand(char **ret, const gpumap_plan *plan, const char *key, const struct job_rank *rank,
	       const char *stream, gpumap_report *report)
{
	const char *value = gpumap_plan_setting(plan, key, rank->row);
	const struct macros macros = job_macros(plan, rank, stream);

	if (!value)
		return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY, NULL,
				   "no such key: '%s'", QUOTE(span_of(key)));
	return profile_expand(ret, value, &macros, ABOUT(.origin = key), report);
}

EXPORT int gpumap_plan_expand_setting(char **ret, const gpumap_plan *plan, const char *key,
				      int64_t rank, const char *stream, gpumap_report *report)
{
	struct job_rank at = {.rank = -1, .local_rank = -1, .node = -1, .row = rank, .host = NULL};

	job_rank_at(plan, rank, &at);
	return job_expand(ret, plan, key, &at, stream, report);
}
