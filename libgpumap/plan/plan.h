/* SPDX-License-Identifier: MIT */
/*
 * The plan: the host of each rank, the devices that it sees, and the device that its program uses.
 *
 *	hosts (inventories, inherited lists, CPUs) --+
 *	settings (from a profile)                  --+-> plan_make() -> plan
 *
 * plan_make is a pure function like gpumap_resolve: it reads no file and no environment, and writes
 * nothing. What hosts have in common is computed once, so a plan for 12,500 hosts with the same
 * pointers costs little more than a plan for one host. Hosts with inventories of their own that
 * differ only in UUIDs, addresses and the like share the answers of gpumap_resolve (alike.c).
 */
#ifndef GM_PLAN_H
#define GM_PLAN_H

#include "gpumap.h"

#include "arena.h"
#include "plan/plan_settings.h"
#include "report/report.h"

enum {
	PLAN_MAX_RANKS = 1 << 20,
	PLAN_MAX_LOCAL = 4096, /* ranks with GPUs on one host */
	PLAN_AUTO = -1         /* the number of a setting that is "auto" */
};

/* What to do about hosts that are not known here, as a remedy. */
#define RECORD_HOSTS \
	"run gpumap inventory --save HOST.ini on each host, and write " SETTING( \
		"inventory = %h.ini") ", where %h is the host's name"

/* --- input of a plan --------------------------------------------------------- */

/* What limits this process to some of the host's devices. The last two limit a rank to its own
 * GPUs. */
enum plan_limit {
	PLAN_LIMIT_USER,
	PLAN_LIMIT_SCHEDULER,
	PLAN_LIMIT_CONTAINER,
	PLAN_LIMIT_RUN, /* a rank of gpumap run; other GPUs of the run belong to other ranks */
	/* a rank of another launcher; its GPU is usually that of its local rank */
	PLAN_LIMIT_RANK
};

struct plan_inherited {
	enum plan_limit kind;
	const gpumap_mapping *mapping; /* the process may use only its visible devices */
	const char *origin; /* "CUDA_VISIBLE_DEVICES", "job 4711", "rank 1 of gpumap run 7" */
	const char *bad;    /* an entry of GPUMAP_RUN_GPUS that is not a GPU of the host; or NULL */
};

/* CPUs by number. */
struct cpu_topology {
	size_t count;    /* the highest CPU's number plus one */
	const int *core; /* a number that the threads of one core share; -1: no such CPU */
	const int *node; /* its NUMA node; -1: not known */
};

struct plan_cpus {
	const char *allowed; /* inherited affinity and cpuset, "0-31"; NULL: not known */
	const struct cpu_topology *topology; /* NULL: not known, each CPU is a core */
};

/* A host. Hosts that share these pointers share everything that follows from them. */
struct plan_host_input {
	const char *name;                  /* not NULL */
	const gpumap_inventory *inventory; /* NULL: nothing is known of the host */
	/* The outermost list comes first, those of ranks come last. "inherit" means the last list,
	 * of which a rank takes its own part. */
	const struct plan_inherited *inherited;
	size_t inherited_count;
	const struct plan_cpus *cpus; /* NULL: nothing is known */
	/* What gpus = free:COUNT stands for, "2,5", or UUIDs of MIG instances; NULL: not known.
	 * no_free: that was reported. */
	const char *free_gpus;
	bool no_free;
	/* NULL: those of the plan, from which mode and world_size always come */
	const struct plan_settings *settings;
};

struct plan_input {
	const struct plan_settings *settings;
	const struct plan_host_input *hosts; /* the host of rank 0 first */
	size_t host_count;
	const struct speech *speech; /* how findings name settings; NULL: by their origin */
	bool scheduled;              /* a scheduler's job will start the ranks, on other hosts */
};

/* --- the plan ------------------------------------------------------------------ */

struct plan_device {
	int physical, mig; /* mig: place among its GPU's instances, -1: a whole GPU */
	const char *uuid, *pci, *name;
};

/* The devices and cores of a local rank; shared by all equal hosts. */
struct local_rank {
	const struct plan_device *devices; /* its own; NULL: it runs without a GPU */
	size_t device_count;
	const char *visible;             /* the value of CUDA_VISIBLE_DEVICES; "": no GPU */
	const struct plan_device *lands; /* the device that it uses (dp: its master; mp: the first
					  * stage); NULL: not known or none */
	int logical;                     /* N of its cuda:N; -1: not known or none */
	const char *cpus;                /* "0-7,64-71"; NULL: any CPU */
	const char *nodes;               /* NUMA nodes for its memory, "0"; NULL: any node */
	int threads;                     /* OMP_NUM_THREADS; 0: unchanged */
	bool cpus_shared;                /* other ranks run on these CPUs too */
};

struct plan_layout {
	struct local_rank *ranks; /* by local rank */
	size_t count;
	const char *device_order;       /* the value of CUDA_DEVICE_ORDER; NULL: unchanged */
	const struct plan_device *gpus; /* all GPUs of the host by number, chosen or not */
	size_t gpu_count;
};

struct plan_host {
	const char *name;
	size_t first_rank;
	const struct plan_layout *layout;
};

struct plan_step {
	const char *rule, *text, *origin;
};

/* Another value of a setting for one rank. For a key of scope NODE all ranks of a host have it. */
struct job_exception {
	size_t rank;
	enum profile_key_id key;
	struct plan_setting setting;
};

struct job_variable {
	const char *name, *value, *origin; /* value NULL: to be unset */
};

/* A plan owns all its data, so a plan that was read from a file is like one that was made. */
struct gpumap_plan {
	struct arena arena;
	bool answered; /* false: the report has an error, and nothing may be started */
	struct plan_host *hosts;
	size_t host_count, world_size;
	struct plan_step *steps;
	size_t step_count;

	/* what is needed to start the plan (job.h) */
	const char *profile; /* NULL: none was chosen */
	const char *lease;   /* what gpus = free:COUNT stands for: numbers, "2,5", or UUIDs of MIG
			      * instances; NULL: it has no lease */
	struct plan_settings settings;
	struct job_exception *exceptions; /* by rank */
	size_t exception_count, exception_room;
	const char **arguments;
	size_t argument_count;
	struct job_variable *variables;
	size_t variable_count;
	const char *master_addr;
	int master_port; /* 0: any */
	const char *run; /* NULL: not known yet */
	bool run_named;  /* by gpumap_plan_set_run, not by a scheduler's job */
	bool met;        /* job_meet was called: another launcher starts the ranks, once */
};

/* If the plan cannot work, the function still returns GPUMAP_OK and a plan, whose `answered` is
 * false. GPUMAP_EINPUT: a setting is malformed. GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int plan_make(gpumap_plan **ret, const struct plan_input *input, gpumap_report *report);

#endif
