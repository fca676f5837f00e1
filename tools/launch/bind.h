/* SPDX-License-Identifier: MIT */
/* Binds a rank to cores and memory: from a plan's lists to system calls. */
#ifndef GM_BIND_H
#define GM_BIND_H

#include "arena.h"
#include "guard.h"

/* Fills in the CPUs and the memory policy of `rank` from lists such as "0-7,64-71"; NULL: as the
 * caller's. `strict`: no memory of other nodes. False: a list is malformed, or the arena has
 * failed. */
bool rank_bind(struct launch_rank *rank, struct arena *arena, const char *cpus, const char *nodes,
	       bool strict);

/* Gives this process the folder, CPUs, memory policy and so on of the rank. False: *stage failed,
 * and errno has the reason. */
bool rank_settle(const struct launch_rank *rank, enum stage *stage);

/* The message if a stage of the table fails: "cannot be bound to its cores". */
struct bind_failure {
	const char *text, *fix;
};
/* NULL: the stage is not in the table. */
const struct bind_failure *bind_failure(enum stage stage);

#endif
