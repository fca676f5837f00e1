/* SPDX-License-Identifier: MIT */
#ifndef GM_KEEP_FOR_PROCESS_H
#define GM_KEEP_FOR_PROCESS_H

#include "cli/output.h"
#include "pick/lease_end.h"

/*
 * A lease that outlives gpumap pick, until another process ends.
 *
 *	pick ---fork---> guard
 *
 * The guard takes the lease, so that the locks show a process that keeps running. pick prints the
 * list, and ends. Then the guard has nothing of its caller: a session of its own, no terminal, no
 * pipe, and a command line that names the process that it waits for. When that ends, the lease
 * ends, also for jobs inside it that keep running.
 */

struct pick_keep {
	bool shell;
	const char *hold;  /* a process; NULL: with `shell` the shell */
	const char *adopt; /* a process whose GPUs are leased, and which holds; NULL */
	pid_t pid;         /* that process, once it is known */
	size_t printed;    /* how many findings of the report are printed already */
};

/* The name of one that was given; NULL: none. */
const char *pick_keeps(const struct pick_keep *keep);
/* Refuses options that contradict each other. `chooses` is an option or a number that chooses GPUs;
 * NULL. GPUMAP_EINPUT. */
int pick_keep_check(const struct pick_keep *keep, bool program, const char *chooses,
		    gpumap_report *report);

/* Takes the lease with its list, as text that the caller frees. Returns an exit status. */
typedef int pick_take(gpumap_lease **lease, char **list, void *data);

/* Returns the exit status of gpumap pick. The lease is taken in another process, which prints what
 * it reports. */
int pick_keep(struct pick_keep *keep, const struct lease_limits *limits, pick_take *take,
	      void *data, const struct output *output);

#endif
