/* SPDX-License-Identifier: MIT */
#ifndef GM_HOSTS_H
#define GM_HOSTS_H

#include "plan/plan.h"

enum { MAX_LIMITS = 3 };

struct known_host {
	const char *name;
	int64_t slots; /* of a hostfile, from 1; -1: not given */
	const gpumap_inventory *inventory;
	struct plan_inherited inherited[MAX_LIMITS];
	gpumap_mapping *mappings[MAX_LIMITS]; /* of `inherited` */
	size_t inherited_count;
	struct plan_cpus cpus;
	struct cpu_topology topology;
	bool has_cpus;
	const char *job;       /* the scheduler's id, or NULL */
	const char *free_gpus; /* of gpus = free:COUNT, or NULL */
	bool no_free;          /* they cannot be chosen, which was reported */
	size_t like;           /* the host whose data this host uses, often itself */
};

struct gpumap_hosts {
	struct arena arena;
	struct known_host *hosts;
	size_t count, room;
	bool scheduled; /* a scheduler's job, which is not known yet, will start the ranks */
};

/* Drops the inherited lists. */
void hosts_drop_limits(struct known_host *host);

/* The host whose GPUs, list and cores the i-th host has. */
size_t host_source(const gpumap_hosts *hosts, size_t i);

struct plan_settings;
/* Whether the hostfile's slots are the host's ranks, because the settings have no number. */
bool slots_are_ranks(const struct known_host *host, const struct plan_settings *settings);

/* Adds a limit of entries as gpumap writes them (rule N5): UUIDs, or numbers in PCI order. */
int hosts_limit_to(gpumap_hosts *hosts, struct known_host *host, enum plan_limit kind,
		   const char *origin, const char *list);
/* For a process that is one of several ranks of another launcher on its host. Its local rank
 * selects its own GPU, unless the ranks see only one GPU, or nothing is known of the host. */
int hosts_limit_rank(gpumap_hosts *hosts, size_t i, int64_t local_rank, const char *launcher,
		     gpumap_report *report);

/* Whether an entry of GPUMAP_RUN_GPUS names this device. gpumap writes lists (rule N5) with UUIDs,
 * or with the numbers of whole GPUs in PCI order. run_entry_is_device(): whether it can be any. */
bool run_entry_is(struct span entry, const char *uuid, int physical, bool mig);
bool run_entry_is_device(struct span entry);

/* Whether a run can have this name: with %j it is part of a file's name. */
bool is_run_name(const char *text);
/* Whether the visible list of an environment is a scheduler's grant. */
bool scheduler_grants(const char *const *envp);
/* The id of the scheduler's job in an environment; NULL: there is none, or it cannot be the name of
 * a run. */
const char *job_of_environ(const char *const *envp);

#endif
