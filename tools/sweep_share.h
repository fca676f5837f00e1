/* SPDX-License-Identifier: MIT */
/* Parting a machine among runs of a sweep that run at a time. */
#ifndef GM_SWEEP_SHARE_H
#define GM_SWEEP_SHARE_H

#include "arena.h"
#include "plan_open.h"

struct share {
	const char *gpus; /* for the key gpus; NULL: none to part */
	const char *cpus; /* "0-7"; NULL: all */
};

/* `jobs` shares of the GPUs that the profile selects, in the arena: neighbours in its order, and
 * the cores near them. */
int sweep_share(struct arena *arena, struct share *ret, size_t jobs,
		const struct plan_options *options, const char *sweep, gpumap_report *report);

#endif
