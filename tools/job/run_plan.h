/* SPDX-License-Identifier: MIT */
/* Starts a plan's ranks of one node: the work of gpumap run, once for each run. */
#ifndef GM_RUN_PLAN_H
#define GM_RUN_PLAN_H

#include "cli/output.h"

struct run {
	gpumap_plan *plan;
	int64_t node;
	char *machine;        /* the `inventory` of this host; NULL: that of the plan */
	gpumap_lease *lease;  /* of gpus = free:COUNT; NULL: none */
	const char *name;     /* of a sweep's run, for the tags of lines; NULL: not in a sweep */
	const char *manifest; /* the file of the record; NULL: in the log folder, if there is one */
	bool json;            /* print the record on standard output at the end */
	bool dry;             /* show the plan, and start nothing */
	bool verify;          /* compare the ranks with the plan once they have used their GPUs */
	char *const *words;   /* the command line, for the record */
};

/* Whether this machine can start the plan. GPUMAP_EINPUT: it cannot; the report has the reason. */
int run_check(const struct run *run, gpumap_report *report);

/* --dry-run: shows the plan as gpumap plan does, if `code` is GPUMAP_OK, and frees the report.
 * Returns the exit status of gpumap plan: whether run_plan() would accept it. */
int run_show(const struct run *run, int code, gpumap_report *report);

void run_free(struct run *run);

/* Starts and supervises the ranks, and writes the record. Returns the exit status of gpumap run. If
 * the status is gpumap's own, the report has the reason. The report is printed, except the findings
 * about how ranks ended. */
int run_plan(const struct run *run, gpumap_report *report);

/* Prints the record of a run that never began. */
void run_print_refusal(const struct run *run, gpumap_report *report);

#endif
