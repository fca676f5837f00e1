/* SPDX-License-Identifier: MIT */
/* The state of a sweep that runs (run_sweep.c), and its reports (sweep_report.c). */
#ifndef GM_SWEEP_H
#define GM_SWEEP_H

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "base.h"
#include "job/run_plan.h"
#include "job/sweep_share.h"

/* One combination. */
struct combination {
	char name[112]; /* "sizes-3" */
	pid_t pid;
	size_t job;
	int status; /* -1: not ended */
	struct timespec started, ended;
};

struct sweep {
	struct plan_options options;
	const struct run *like;
	gpumap_report *report;
	gpumap_profile *profile;
	const gpumap_section *section;
	struct arena arena;
	struct combination *runs;
	struct share *shares;         /* by job */
	struct combination **running; /* by job; NULL: no run */
	size_t count, jobs, next, running_count;
	char stem[81]; /* the common part of the runs' names */
	bool parts;    /* the runs' parts of the machine depend on the combination */
	int stopped;   /* the signal that stopped it; 0: none */
	sigset_t caught, before;
};

/* Prints a line about the i-th run to standard error. */
void sweep_log(const struct sweep *s, size_t i, const char *format, ...) PRINTF(3, 4);

/* Reports the failures, and returns the status of the sweep. */
int sweep_conclude(const struct sweep *s);

/* Prints all runs as JSON. False: it cannot be written. */
bool sweep_print(const struct sweep *s, int status);

#endif
