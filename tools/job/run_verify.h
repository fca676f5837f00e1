/* SPDX-License-Identifier: MIT */
/*
 * gpumap run --verify: a process beside the launcher, the watcher, compares the ranks with their
 * plan once. It opens NVML, which may take seconds or hang, so the launcher does not.
 */
#ifndef GM_RUN_VERIFY_H
#define GM_RUN_VERIFY_H

#include "job/run_ranks.h"

struct run_watcher {
	pid_t pid; /* 0: there is none */
	int found; /* a file in memory: what it found, as gpumap verify --json prints it */
};

/* Forks the watcher. It looks at the ranks after half a second, and then each time after twice as
 * long as before. When every rank has used a GPU or has ended, it prints on standard error what
 * differs, and exits. After an hour it prints what it sees. A remark if it cannot be forked. */
void run_verify_begin(struct run_watcher *ret, const struct run_ranks *ranks,
		      gpumap_report *report);
/* The ranks have ended: ends the watcher. Returns what it found, NULL for nothing; the caller frees
 * it. Adds a remark if it has not compared the ranks. */
char *run_verify_end(struct run_watcher *watcher, gpumap_report *report);

#endif
