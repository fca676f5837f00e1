/* SPDX-License-Identifier: MIT */
#include "rank_place.h"

#include "launch/bind.h"
#include "report.h"

int rank_place(struct launch_rank *rank, struct arena *arena, const gpumap_plan *plan, int64_t row,
	       const struct plan_slot *slot, gpumap_report *report)
{
	int mem_bind = job_value(plan, PKEY_PROFILE_mem_bind, row).word;

	if (rank_bind(rank, arena, slot->cpus, mem_bind == PLAN_MEM_NONE ? NULL : slot->nodes,
		      mem_bind == PLAN_MEM_STRICT))
		return GPUMAP_OK;
	if (arena->failed)
		return report_nomem(report);
	return report_fail(report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
			   ABOUT(.fix = "write lists such as 0-7,64"),
			   "rank %d: cores '%s' or memory nodes '%s' are no list", rank->rank,
			   QUOTE(span_of(slot->cpus ? slot->cpus : "")),
			   QUOTE(span_of(slot->nodes ? slot->nodes : "")));
}
