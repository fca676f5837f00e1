/* SPDX-License-Identifier: MIT */
/* gpumap run --sweep starts a run for each combination, several at a time on GPUs of their own. */
#ifndef GM_RUN_SWEEP_H
#define GM_RUN_SWEEP_H

#include "job/plan_open.h"
#include "job/run_plan.h"

/* Runs all combinations, even if some fail. Returns the status of the first combination, in the
 * order of the sweep, that failed; 0: none failed. Each run is a separate process with its own
 * port, its own part of the GPUs and cores if several run at a time, and its own log folder. A
 * signal that stops this process stops the runs. `like` has what all runs have in common. */
int run_sweep(const struct plan_options *options, const char *name, const struct run *like,
	      gpumap_report *report);

#endif
