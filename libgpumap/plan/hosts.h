/* SPDX-License-Identifier: MIT */
#ifndef GM_HOSTS_H
#define GM_HOSTS_H

#include "plan/plan.h"

struct known_host {
	const char *name;
	int64_t slots; /* of a hostfile, from 1; -1: not said */
	const gpumap_inventory *inventory;
	gpumap_mapping *mapping; /* of what it inherits; NULL: nothing is known, or no list */
	struct plan_inherited inherited;
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

/* The host whose GPUs, list and cores the i-th one has. */
size_t host_source(const gpumap_hosts *hosts, size_t i);

/* The id of the scheduler's job that an environment is part of, NULL: of none. */
const char *job_of_environ(const char *const *envp);

#endif
