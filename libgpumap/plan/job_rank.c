/* SPDX-License-Identifier: MIT */
/* A rank of a plan, by its number, and the values of its settings. */
#include "plan/job.h"

#include "profile/profile.h"

bool job_rank_at(const gpumap_plan *plan, int64_t rank, struct job_rank *ret)
{
	const struct plan_host *host;
	size_t node;

	if (rank < 0 || (size_t)rank >= plan->world_size)
		return false;
	/* The last host that begins at or before the rank; hosts without ranks come before it. */
	node = FIRST_PLACE(i, plan->host_count, plan->hosts[i].first_rank <= (size_t)rank) - 1;
	host = &plan->hosts[node];
	*ret = (struct job_rank){
		.rank = rank,
		.world_size = (int64_t)plan->world_size,
		.local_rank = rank - (int64_t)host->first_rank,
		.local_size = (int64_t)host->layout->count,
		.node = (int64_t)node,
		.nodes = (int64_t)plan->host_count,
		.row = rank,
		.host = host->name,
		.local = &host->layout->ranks[(size_t)rank - host->first_rank],
		.device_order = host->layout->device_order,
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
