/* SPDX-License-Identifier: MIT */
/* Starting a plan's ranks of one node: what gpumap run does, once for each run. */
#ifndef GM_RUN_PLAN_H
#define GM_RUN_PLAN_H

#include "command.h"

struct run {
	gpumap_plan *plan;
	int64_t node;
	const char *name;     /* of a sweep's run, for the tags of lines; NULL: not of a sweep */
	const char *manifest; /* the file of the record; NULL: in the log folder, if there is one */
	bool json;            /* the record on standard output, at the end */
	bool dry;             /* the plan is shown, and nothing is started */
	char *const *words;   /* of the command line, for the record */
};

/* Whether this machine can start it; otherwise GPUMAP_EINPUT, and the report says why. */
int run_check(const struct run *run, gpumap_report *report);

/* Shows the plan as gpumap plan does, and whether run_plan would refuse it: *answered. */
int run_show(const struct run *run, const struct output *output, bool *answered);

/* Starts, supervises and records. Returns the exit status of gpumap run; the reason for one of
 * its own is in the report, which is printed but for what the ranks' ends make of it. */
int run_plan(const struct run *run, gpumap_report *report);

/* The record of a run that was never begun, on standard output. */
void run_print_refusal(const struct run *run, gpumap_report *report);

#endif
