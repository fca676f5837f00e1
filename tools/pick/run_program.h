/* SPDX-License-Identifier: MIT */
#ifndef GM_PICK_RUN_PROGRAM_H
#define GM_PICK_RUN_PROGRAM_H

#include "pick/lease_end.h"

/*
 * Runs a program with a lease.
 *
 *	pick ---fork---> guard ---fork---> program and its children
 *
 * The program inherits the lease. A program may close what it inherits before it starts others, as
 * torchrun does, so the guard holds the lease too, until the program and all that it started are
 * gone. pick ends with the program. Its signals reach the program. A limit ends the lease earlier:
 * the guard unlocks it, for all that have inherited it, and pick prints that.
 */

/* Returns the exit status of the program, 128 + N for signal N. `argv` ends with NULL; `list` is
 * its CUDA_VISIBLE_DEVICES. The lease is freed. */
int pick_run(gpumap_lease *lease, const char *list, char **argv, const struct lease_limits *limits,
	     gpumap_report *report);

#endif
