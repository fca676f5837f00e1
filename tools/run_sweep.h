/* SPDX-License-Identifier: MIT */
/* gpumap run --sweep: a run for each combination, some at a time on GPUs of their own. */
#ifndef GM_RUN_SWEEP_H
#define GM_RUN_SWEEP_H

#include "plan_open.h"
#include "run_plan.h"

/* Runs them all, whatever becomes of each, and returns the status of the first, by
 * combination, that failed; 0: none did. Each run is a process of its own, with its own port,
 * its own part of the GPUs and cores when several run at a time, and its own log folder. A
 * signal that stops this stops the runs. `like` has what all runs have in common. */
int run_sweep(const struct plan_options *options, const char *name, const struct run *like,
	      gpumap_report *report);

#endif
