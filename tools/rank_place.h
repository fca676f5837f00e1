/* SPDX-License-Identifier: MIT */
/* What the settings of a rank make of its process, for run and exec alike. */
#ifndef GM_RANK_PLACE_H
#define GM_RANK_PLACE_H

#include "launch/launch.h"
#include "plan/job.h"

/* Fills cores and memory of `rank`; `row` is the rank that the plan has exceptions for. The
 * arena keeps them. */
int rank_place(struct launch_rank *rank, struct arena *arena, const gpumap_plan *plan, int64_t row,
	       const struct plan_slot *slot, gpumap_report *report);

#endif
