/* SPDX-License-Identifier: MIT */
/*
 * Trials in a process of their own. After an illegal access every later call of a process fails,
 * and a kernel may not come to its end. So a process that dies is begun again, behind the kernel
 * that ended it.
 */
#ifndef KERNELS_WATCH_H
#define KERNELS_WATCH_H

#include "kernels-ahead.h"

/* What the processes share. */
struct watched {
	int job;    /* in work; -1: none yet */
	int begun;  /* counts what was begun */
	bool ended; /* all jobs were tried */
	int done, failed;
	char why[WHY_BYTES]; /* why this process ends */
};

struct watch {
	struct job *jobs;
	int count, seconds;                        /* that a trial may take */
	int (*run)(struct watch *watch, int from); /* tries the jobs from this one on */
	void (*died)(struct watch *watch, const struct job *job, const char *why);
	struct watched *shared;
};

/* Returns the status of the program. */
int watch_jobs(struct watch *watch);
/* The process of the trials begins this job. */
void watch_begins(struct watch *watch, int job);

#endif
