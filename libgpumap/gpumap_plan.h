/* SPDX-License-Identifier: MIT */
/* A part of gpumap.h, which includes it and has the conventions. */
#ifndef GPUMAP_PLAN_H
#define GPUMAP_PLAN_H

#include "gpumap.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpumap_profile gpumap_profile; /* of gpumap_profile.h */

/* --- identity: which rank a process is ------------------------------------------ */

/* What its launcher tells a process of its place among others, in the variables that the
 * request was given (rules R1, R2 and R4). */
enum gpumap_identity_attr {
	/* str */
	GPUMAP_IDENTITY_LAUNCHER, /* whose variables hold: "torch", "Open MPI", "MPICH", "MVAPICH2",
				   * "PALS", "jsrun", "Flux", "Slurm step"; "Kubernetes": those of a
				   * pod, where the node alone is known (rule R2) */
	/* int */
	GPUMAP_IDENTITY_RANK, /* 0 to the world's size - 1 */
	GPUMAP_IDENTITY_WORLD_SIZE,
	GPUMAP_IDENTITY_LOCAL_RANK, /* on its node; the key local_rank comes first */
	GPUMAP_IDENTITY_LOCAL_SIZE, /* ranks on its node */
	GPUMAP_IDENTITY_NODE_RANK,
	GPUMAP_IDENTITY_NODES
};

/* NULL and -1 where it is not known, all of them without a launcher. Variables with values of no
 * meaning are left out, which gpumap_resolve reports. The string is static. */
const char *gpumap_identity_str(const gpumap_request *request, enum gpumap_identity_attr attr);
int64_t gpumap_identity_int(const gpumap_request *request, enum gpumap_identity_attr attr);

/* --- hosts: where ranks can run ----------------------------------------------- */

/* Hosts by node rank, with what is known of each. Hosts of which the same is known
 * are planned once, so that thousands of equal ones cost little. */
typedef struct gpumap_hosts gpumap_hosts;

/* No hosts yet. GPUMAP_ENOMEM. */
int gpumap_hosts_new(gpumap_hosts **ret);
void gpumap_hosts_free(gpumap_hosts *hosts);

/* Adds the hosts of a list as Slurm writes them, "tux[08-11,20],gpu1", in its order.
 * Two of one name are GPUMAP_EINPUT, as is a malformed list; GPUMAP_ELIMIT beyond
 * 100,000 hosts, GPUMAP_ENOMEM. On failure nothing is added. */
int gpumap_hosts_add(gpumap_hosts *hosts, const char *list, const char *origin,
		     gpumap_report *report);

/* Adds the hosts of a hostfile, lines of "NAME", "NAME slots=N" or "NAME:N"; slots are
 * the ranks of that host, unless the profile counts them; one with slots=0 is left out.
 * Codes as gpumap_hosts_add. */
int gpumap_hosts_add_file(gpumap_hosts *hosts, const char *text, size_t size, const char *origin,
			  gpumap_report *report);

size_t gpumap_hosts_count(const gpumap_hosts *hosts);
/* NULL past the end. */
const char *gpumap_hosts_name(const gpumap_hosts *hosts, size_t i);

/* The GPUs of the i-th host. The inventory is borrowed: it must live until the hosts are
 * freed. Without one nothing is known of the host. */
void gpumap_hosts_inventory(gpumap_hosts *hosts, size_t i, const gpumap_inventory *inventory);

/* The environment that the i-th host's ranks are started from, after its inventory: the
 * list that it inherits, who set it (rule S6a), the scheduler's job, and the GPUs that are its
 * own if it is a rank of gpumap run (GPUMAP_RUN_GPUS). GPUMAP_ELIMIT,
 * GPUMAP_ENOMEM. */
int gpumap_hosts_environ(gpumap_hosts *hosts, size_t i, const char *const *envp,
			 gpumap_report *report);

/* The CPUs of the i-th host. `allowed` is the inherited affinity and cpuset as a list,
 * "0-31"; NULL: not known. For each of `count` CPUs by number: `core`, a number that the
 * threads of one core share, -1 where there is no such CPU, and `node`, its NUMA node, -1
 * where that is not known. `count` 0: nothing is known of them. GPUMAP_ENOMEM. */
int gpumap_hosts_cpus(gpumap_hosts *hosts, size_t i, const char *allowed, const int *core,
		      const int *node, size_t count);

/* From now on the i-th host is taken to have what the other has: GPUs, inherited list, cores,
 * also where the other is itself like a third. Where it comes back to the i-th host, or
 * `other` is that host, it has its own again. */
void gpumap_hosts_like(gpumap_hosts *hosts, size_t i, size_t other);

/* --- plan: which rank runs where, on what, and what it is told ------------------ */

/* Immutable but for gpumap_plan_start, and independent of what it was made from. */
typedef struct gpumap_plan gpumap_plan;

/* Plans the profile's ranks over the hosts (rules R3 to R5, S6a, G10). Pure: no input or
 * output, no environment. A plan that cannot work is still a plan: GPUMAP_PLAN_ANSWERED is
 * 0, the report says why, and it must not be started.
 * GPUMAP_EINPUT: a value is malformed, a ${VAR} not set, or there is no host.
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_plan_make(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		     gpumap_report *report);

/* Reads what gpumap_plan_text writes as JSON: a plan equal to the one it was written from.
 * GPUMAP_EINPUT: cut short, of another schema, or no plan. GPUMAP_ELIMIT, GPUMAP_ENOMEM;
 * gpumap_plan_read also GPUMAP_EFILE, and "-" is standard input. */
int gpumap_plan_parse(gpumap_plan **ret, const char *text, size_t size, const char *origin,
		      gpumap_report *report);
int gpumap_plan_read(gpumap_plan **ret, const char *path, gpumap_report *report);
void gpumap_plan_free(gpumap_plan *plan);

enum gpumap_plan_attr {
	/* str */
	GPUMAP_PLAN_PROFILE, /* its name, or NULL */
	GPUMAP_PLAN_MODE,    /* "single", "dp", "ddp" or "mp" */
	GPUMAP_PLAN_MASTER_ADDR,
	GPUMAP_PLAN_RUN, /* the run's id: the scheduler's job, or gpumap_plan_start's, or NULL */
	/* int */
	GPUMAP_PLAN_ANSWERED, /* 1: it can be started */
	GPUMAP_PLAN_WORLD_SIZE,
	GPUMAP_PLAN_HOSTS,
	GPUMAP_PLAN_MASTER_PORT /* 0: a free one of the first host, taken at the start */
};
const char *gpumap_plan_str(const gpumap_plan *plan, enum gpumap_plan_attr attr);
int64_t gpumap_plan_int(const gpumap_plan *plan, enum gpumap_plan_attr attr);

/* The value that a key of [profile] or [program] has for a rank, -1: for none in particular;
 * what overrides say of its host and rank is in it, macros are there still. NULL: no such
 * key. */
const char *gpumap_plan_setting(const gpumap_plan *plan, const char *key, int64_t rank);

/* The same with the rank's macros expanded; `stream` is what %s stands for, or NULL. The caller
 * frees it. GPUMAP_EKEY; GPUMAP_EINPUT: a macro that is not known here; GPUMAP_ENOMEM. */
int gpumap_plan_expand(char **ret, const gpumap_plan *plan, const char *key, int64_t rank,
		       const char *stream, gpumap_report *report);

enum gpumap_rank_attr {
	/* str */
	GPUMAP_RANK_HOST,
	GPUMAP_RANK_VISIBLE, /* the value of CUDA_VISIBLE_DEVICES; "": no GPU */
	GPUMAP_RANK_UUID,    /* of the device that it lands on, or that it has alone; or NULL */
	GPUMAP_RANK_PCI,
	GPUMAP_RANK_NAME,
	GPUMAP_RANK_CPUS,         /* "0-7,64-71", or NULL: not bound */
	GPUMAP_RANK_MEMORY_NODES, /* NUMA nodes, "0", or NULL: not bound */
	/* int */
	GPUMAP_RANK_NODE, /* of its host */
	GPUMAP_RANK_LOCAL_RANK,
	GPUMAP_RANK_LOCAL_SIZE,
	GPUMAP_RANK_PHYSICAL, /* as GPUMAP_RANK_UUID; nvidia-smi's number */
	GPUMAP_RANK_MIG,      /* its place among that GPU's instances */
	GPUMAP_RANK_LOGICAL,  /* N of the cuda:N that the program uses */
	GPUMAP_RANK_THREADS   /* OMP_NUM_THREADS; 0: left alone */
};
const char *gpumap_plan_rank_str(const gpumap_plan *plan, int64_t rank, enum gpumap_rank_attr attr);
int64_t gpumap_plan_rank_int(const gpumap_plan *plan, int64_t rank, enum gpumap_rank_attr attr);

/* What only the start can know: the run's id for %j and TORCHELASTIC_RUN_ID (NULL: as it is),
 * and the port that was taken (0: as it is). GPUMAP_ENOMEM. */
int gpumap_plan_start(gpumap_plan *plan, const char *run, int port);

/* The arguments of a rank's program, the first its name, with the rank's macros and what
 * pass_local_rank appends. *ret ends with NULL; the caller frees each and the array. An empty
 * array: the plan has no program. GPUMAP_EINPUT: no such rank. GPUMAP_ENOMEM. */
int gpumap_plan_arguments(char ***ret, const gpumap_plan *plan, int64_t rank,
			  gpumap_report *report);

/* Calls fn(name, value, data) for each variable that differs for the rank from the
 * environment it is started in: `value` NULL means that it is to be unset. `envp` is that
 * environment; NULL: an empty one. Those are
 *  - RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, NODE_RANK,
 *    ROLE_NAME, ROLE_RANK, ROLE_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID,
 *    TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS and TORCHELASTIC_USE_AGENT_STORE,
 *    as torchrun sets them and as far as they are true. Not with a single rank of mode
 *    single, dp or mp: programs take their presence for DistributedDataParallel.
 *  - the variables that other launchers tell a rank by, and those of the above that this
 *    rank does not get: they are unset (rule R1);
 *  - CUDA_VISIBLE_DEVICES and, where it needs it, CUDA_DEVICE_ORDER (rule N5);
 *  - OMP_NUM_THREADS; threads = auto leaves one of `envp` alone;
 *  - GPUMAP_RUN_GPUS, GPUMAP_RUN_RANK and GPUMAP_RUN_ID: the GPUs that are the rank's own, as a
 *    visible list, its number and the run, for a gpumap that it starts;
 *  - those of [env] and [unset]. A variable may come twice: the last call holds.
 * fn returns 0 to go on; another value ends and is returned. GPUMAP_EINPUT: no such rank,
 * GPUMAP_ENOMEM. */
int gpumap_plan_environ(const gpumap_plan *plan, int64_t rank, const char *const *envp,
			int (*fn)(const char *name, const char *value, void *data), void *data);

/* The plan as text, JSON (schema 1) or SVG, as gpumap_explain. JSON and SVG hold the
 * report's findings too. `origins`: with each setting's value and where it came from, in the text;
 * the JSON always has them. `plan` NULL: the report alone, in JSON or SVG. */
int gpumap_plan_text(char **ret, const gpumap_plan *plan, const gpumap_report *report,
		     enum gpumap_format format, int origins);

/* What differs from plan `a` to plan `b`, as text or JSON (schema 1): the plan, settings,
 * environment, program, nodes and ranks; those that differ alike are one. Where values came
 * from and why they are so is not compared. *differs: 1 if anything does. JSON holds the
 * report's findings too; `a` or `b` NULL: the report alone. GPUMAP_ENOMEM. */
int gpumap_plan_diff(char **ret, int *differs, const gpumap_plan *a, const gpumap_plan *b,
		     const gpumap_report *report, enum gpumap_format format);

/* --- emit: the plan in another launcher's words ---------------------------------- */

/* The launchers that gpumap_emit knows, and a line on each (`summary` may be NULL); NULL past
 * the end. */
const char *gpumap_emit_target(size_t i, const char **summary);

/* The plan as that launcher's command or script, for a shell; files that it needs are written
 * by it. The report gets what the launcher loses or changes. *ret is NULL where it cannot start
 * the plan, and the report says why. Pure. GPUMAP_EKEY: no such launcher. GPUMAP_EINPUT,
 * GPUMAP_ENOMEM. */
int gpumap_emit(char **ret, const gpumap_plan *plan, const char *target, gpumap_report *report);

/* The same as JSON (schema 1), with the files apart and the report's findings; *emitted tells
 * whether there is a text. `plan` NULL: the report alone. */
int gpumap_emit_json(char **ret, int *emitted, const gpumap_plan *plan, const char *target,
		     gpumap_report *report);

#ifdef __cplusplus
}
#endif
#endif
