/* SPDX-License-Identifier: MIT */
/* A rank's process by the rank's settings, for run and exec. */
#ifndef GM_RANK_PLACE_H
#define GM_RANK_PLACE_H

#include "launch/launch.h"
#include "plan/job.h"

/* Fills the numbers, the folder, the cores and the memory of `ret`. The arena keeps them. */
int rank_place(struct launch_rank *ret, struct arena *arena, const gpumap_plan *plan,
	       const struct job_rank *rank, gpumap_report *report);

#endif
