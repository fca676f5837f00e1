/* SPDX-License-Identifier: MIT */
/* The hosts of a plan and their data: names, inventories, this machine's CPUs and environment. */
#ifndef GM_PLAN_HOSTS_H
#define GM_PLAN_HOSTS_H

#include "gpumap.h"

#include <stdbool.h>

struct plan_hosts {
	gpumap_hosts *hosts;
	int64_t node;  /* the node that is this machine; -1: no node is */
	char *machine; /* the setting `inventory` of that node; NULL: no node is */
	/* Private: inventories by the text that named them. */
	struct opened {
		char *what;
		gpumap_inventory *inventory;
	} * opened;
	size_t count, room;
};

enum plan_for {
	PLAN_FOR_RANK,  /* this process is one of the planned ranks */
	PLAN_FOR_ALL,   /* only this process plans, and it may be a rank of another launcher */
	PLAN_FOR_START, /* the same, and the use of this host's GPUs is read, by on_busy */
	PLAN_FOR_JOB    /* as PLAN_FOR_ALL, for a job of a scheduler that does not exist yet */
};

/* Finds the hosts. `nnodes` and `node_rank` are the values of options; NULL: not given. Free `ret`
 * in any case. */
int plan_hosts_open(struct plan_hosts *ret, const gpumap_profile *profile, const char *nnodes,
		    const char *node_rank, enum plan_for plan_for, gpumap_report *report);
/* The plan's node that is this machine; -1: no node is. */
int plan_node(int64_t *ret, const gpumap_plan *plan, const char *node_rank, gpumap_report *report);

/* This machine's name: that of Slurm, or its own. */
void own_host_name(char *ret, size_t size);

void plan_hosts_free(struct plan_hosts *hosts);

#endif
