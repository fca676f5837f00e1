/* SPDX-License-Identifier: MIT */
/* See rank_place.h. */
#include "job/rank_place.h"

#include "launch/bind.h"
#include "report/report.h"

static int place_folder(struct launch_rank *ret, struct arena *arena, const gpumap_plan *plan,
			const struct job_rank *rank, gpumap_report *report)
{
	CLEANUP_FREE char *folder = NULL;
	int r = job_expand(&folder, plan, "workdir", rank, NULL, report);

	if (r == GPUMAP_OK && *folder && !streq(folder, "."))
		ret->folder = arena_strdup(arena, folder);
	return arena->failed ? report_nomem(report) : r;
}

int rank_place(struct launch_rank *ret, struct arena *arena, const gpumap_plan *plan,
	       const struct job_rank *rank, gpumap_report *report)
{
	const struct local_rank *local = rank->local;
	int mem_bind = job_setting(plan, PKEY_PROFILE_mem_bind, rank->row)->word;

	ret->rank = (int)rank->rank;
	ret->local_rank = (int)rank->local_rank;
	if (rank_bind(ret, arena, local->cpus, mem_bind == PLAN_MEM_NONE ? NULL : local->nodes,
		      mem_bind == PLAN_MEM_STRICT))
		return place_folder(ret, arena, plan, rank, report);
	if (arena->failed)
		return report_nomem(report);
	return report_fail(report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
			   ABOUT(.fix = "write lists such as 0-7,64"),
			   "rank %d: cores '%s' or memory nodes '%s' are not a list", ret->rank,
			   QUOTE(span_of(local->cpus ? local->cpus : "")),
			   QUOTE(span_of(local->nodes ? local->nodes : "")));
}
