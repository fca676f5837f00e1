/* SPDX-License-Identifier: MIT */
/*
 * gpumap run --verify: a process beside the launcher, the watcher, compares the ranks with their
 * plan once. It opens NVML, which may take seconds or hang, so the launcher does not.
 */
#ifndef GM_RUN_VERIFY_H
#define GM_RUN_VERIFY_H

#include "run_ranks.h"

/* Forks the watcher. It looks at the ranks after half a second, and then each time after twice as
 * long as before. When every rank has used a GPU or has ended, it prints on standard error what
 * differs, and exits. After an hour it prints what it sees. Returns its pid; 0 after a remark:
 * there is none. */
pid_t run_verify_begin(const struct run_ranks *ranks, gpumap_report *report);
/* The ranks have ended: ends the watcher. Adds a remark if it has not compared them. */
void run_verify_end(pid_t watcher, gpumap_report *report);

#endif
