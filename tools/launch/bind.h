/* SPDX-License-Identifier: MIT */
/* The cores and the memory of a rank: from a plan's lists to those of the kernel. */
#ifndef GM_BIND_H
#define GM_BIND_H

#include "arena.h"
#include "guard.h"

/* Fills in the CPUs and the memory policy of `rank` from lists such as "0-7,64-71"; NULL: as the
 * caller's. `strict`: no memory of other nodes. False: a list is malformed, or the arena has
 * failed. */
bool rank_bind(struct launch_rank *rank, struct arena *arena, const char *cpus, const char *nodes,
	       bool strict);

/* start_rank.c: gives this process the folder, the CPUs and the memory policy of the rank.
 * STAGE_READY, or the stage that failed; errno has the reason. */
enum stage rank_settle(const struct launch_rank *rank);

#endif
