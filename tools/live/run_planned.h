/* SPDX-License-Identifier: MIT */
/* GPUs that a run of gpumap has for its ranks. Until a rank starts CUDA, it is not seen on them. */
#ifndef GM_RUN_PLANNED_H
#define GM_RUN_PLANNED_H

#include "live/published_run.h"

/* The run that has the GPU or MIG instance for a rank which has not ended; NULL: none. Runs that
 * the process `below` is a part of do not count; 0: all do. */
const struct live_run *run_planned(const struct live_runs *runs, const gpumap_device *unit,
				   int below);

/* Warns of those of a lease that have no process. */
void run_warn_planned(const gpumap_lease *lease, gpumap_report *report);

#endif
