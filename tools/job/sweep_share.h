/* SPDX-License-Identifier: MIT */
/* Divides a machine among the runs of a sweep that run at the same time. */
#ifndef GM_SWEEP_SHARE_H
#define GM_SWEEP_SHARE_H

#include "arena.h"
#include "job/plan_open.h"

struct share {
	const char *gpus;  /* a value of the key gpus; NULL: nothing to divide */
	const char *named; /* the same GPUs for people: "GPUs 0-3" */
	const char *cpus;  /* "0-7"; NULL: all */
};

/* Divides the GPUs that the profile selects into `jobs` shares, in the arena: consecutive GPUs in
 * the profile's order, and the cores near them. */
int sweep_share(struct arena *arena, struct share *ret, size_t jobs,
		const struct plan_options *options, const char *sweep, gpumap_report *report);

#endif
