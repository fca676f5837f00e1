/* SPDX-License-Identifier: MIT */
/*
 * The end of the lease of gpumap run, where the administrator limits how long a lease lasts: a
 * process beside the launcher waits for it. The ranks are warned, and not stopped.
 */
#ifndef GM_RUN_LEASE_END_H
#define GM_RUN_LEASE_END_H

#include "job/run_ranks.h"

/* Forks the process if the lease, NULL: none, has an end. Returns its pid; 0: there is none; -1
 * after a line on standard error: it cannot be forked. */
pid_t run_end_begin(const gpumap_lease *lease, const struct run_ranks *ranks);
/* The ranks have ended: ends the process, if there is one. */
void run_end_stop(pid_t watcher);

#endif
