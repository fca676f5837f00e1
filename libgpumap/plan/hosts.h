/* SPDX-License-Identifier: MIT */
#ifndef GM_HOSTS_H
#define GM_HOSTS_H

#include "plan/plan.h"

enum { MAX_BOUNDS = 3 };

struct known_host {
	const char *name;
	int64_t slots; /* of a hostfile, from 1; -1: not said */
	const gpumap_inventory *inventory;
	struct plan_inherited inherited[MAX_BOUNDS];
	gpumap_mapping *mappings[MAX_BOUNDS]; /* theirs */
	size_t inherited_count;
	struct plan_cpus cpus;
	struct cpu_topology topology;
	bool has_cpus;
	const char *job; /* the scheduler's id, or NULL */
	size_t like;     /* the host that this one is like; often itself */
};

struct gpumap_hosts {
	struct arena arena;
	struct known_host *hosts;
	size_t count, room;
	bool scheduled; /* a scheduler's job, of which nothing is known yet, will start the ranks */
};

/* Drops what it inherits. */
void hosts_unbind(struct known_host *host);

/* The host whose GPUs, list and cores the i-th one has. */
size_t host_source(const gpumap_hosts *hosts, size_t i);

/* This process is a rank of another launcher, one of several of its host: unless they see one GPU
 * alone, or nothing is known of the host, its local rank counts the one that is its own. */
int hosts_bound_rank(gpumap_hosts *hosts, size_t i, int64_t local_rank, const char *launcher,
		     gpumap_report *report);

/* Whether an entry of GPUMAP_RUN_GPUS is a device, as gpumap writes lists (rule N5): its UUID, or
 * the number of a whole GPU in PCI order; and whether it can be any. */
bool run_entry_is(struct span entry, const char *uuid, int physical, bool mig);
bool run_entry_is_device(struct span entry);

/* The id of the scheduler's job that an environment is part of, NULL: of none. */
const char *job_of_environ(const char *const *envp);

#endif
