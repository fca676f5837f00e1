/* SPDX-License-Identifier: MIT */
/* The hosts of a plan and what is known of them: names, inventories, this machine's CPUs
 * and environment. */
#ifndef GM_PLAN_HOSTS_H
#define GM_PLAN_HOSTS_H

#include "gpumap.h"

#include <stdbool.h>

struct plan_hosts {
	gpumap_hosts *hosts;
	int64_t node; /* which of them this machine is; -1: none */
	/* Private: inventories by what was said for them. */
	struct opened {
		char *what;
		gpumap_inventory *inventory;
	} * opened;
	size_t count, room;
};

/* `nnodes` and `node_rank` are those of options; NULL: not said. `alone`: the ranks are planned by
 * this process alone, which may be one of several ranks of another launcher; false: it is one of
 * those that are planned. Free `ret` in any case. */
int plan_hosts_open(struct plan_hosts *ret, const gpumap_profile *profile, const char *nnodes,
		    const char *node_rank, bool alone, gpumap_report *report);
/* Which of the plan's nodes this machine is; -1: none. */
int plan_node(int64_t *ret, const gpumap_plan *plan, const char *node_rank, gpumap_report *report);

/* What this machine is called: by Slurm, or by itself. */
void own_host_name(char *ret, size_t size);

void plan_hosts_free(struct plan_hosts *hosts);

#endif
