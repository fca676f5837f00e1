/* SPDX-License-Identifier: MIT */
/* A rank's cores and memory, from a plan's texts to what the kernel takes. */
#ifndef GM_BINDING_H
#define GM_BINDING_H

#include "arena.h"

struct binding {
	const void *cpus;           /* as sched_setaffinity(2) takes it; NULL: not bound */
	size_t cpus_size;           /* bytes */
	const unsigned long *nodes; /* as set_mempolicy(2) takes it; NULL: not bound */
	unsigned long node_bits;
	int policy; /* MPOL_... */
};

/* `cpus` and `nodes` are lists, "0-7,64", or NULL. `strict`: memory from no other node. In the
 * arena; without memory it has failed. */
struct binding binding_make(struct arena *arena, const char *cpus, const char *nodes, bool strict);

#endif
