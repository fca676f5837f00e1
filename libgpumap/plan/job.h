/* SPDX-License-Identifier: MIT */
/* What it takes to start a plan: its settings, program and environment, for each rank. */
#ifndef GM_JOB_H
#define GM_JOB_H

#include "plan/hosts.h"
#include "text/expand.h"

/* NULL: no such node. */
const struct plan_host *job_host(const gpumap_plan *plan, int64_t node);

/* The setting of a rank; `row` as in job_rank, -1: without exceptions. */
const struct plan_setting *job_setting(const gpumap_plan *plan, enum profile_key_id key,
				       int64_t row);

/* The first exception of a key; NULL: there is none. */
const struct plan_setting *job_exception_of(const gpumap_plan *plan, enum profile_key_id key);
/* Whether this setting is `word` for each rank. */
bool job_all_have(const gpumap_plan *plan, enum profile_key_id key, int word);

/* How findings about the plan name its settings. */
struct speech job_speech(const gpumap_plan *plan);

/* Replaces the run's id and the master's endpoint by those of the launcher that started these ranks
 * (NULL: unchanged). Such ranks are never restarted. GPUMAP_ENOMEM. */
int job_meet(gpumap_plan *plan, const char *run, const char *address, int port);

/* How often on_fail = restart:N starts all ranks again. */
int job_restarts(const gpumap_plan *plan);

/* An empty plan; NULL without memory. */
gpumap_plan *job_new(void);
int job_add_exception(gpumap_plan *plan, struct job_exception exception);

/* Gives the plan a copy of its settings, and the profile's program and environment. */
int job_keep(gpumap_plan *plan, const gpumap_profile *profile, const struct plan_settings *settings,
	     gpumap_report *report);
/* Adds the settings of overrides for single ranks, when the ranks are known. */
int job_exceptions(gpumap_plan *plan, const gpumap_profile *profile);
int job_master(gpumap_plan *plan, const gpumap_hosts *hosts, gpumap_report *report);

/* The master's port. `later`: it follows from the id of the job that will start the ranks. */
int job_choose_port(gpumap_plan *plan, const char *job, bool later, gpumap_report *report);

/* torchrun's default, which programs expect unless a port is set. */
enum { COMMON_PORT = 29500 };
/* The port of a scheduler's job, or of a part of it ("": the whole job). Every node computes the
 * same port without asking other nodes, and a script of a job whose id is a number by % alone. The
 * ports are below those that the system assigns by itself (from 32768 on Linux). */
enum { JOB_FIRST_PORT = 12000, JOB_PORTS = 16000 };
int job_port(const char *job, const char *part);
/* Refuses master_port = job; or reports that the ranks meet at COMMON_PORT, and returns that. */
int job_refuse_port(const gpumap_plan *plan, const char *why, gpumap_report *report);
int job_common_port(const gpumap_plan *plan, const char *ranks, const char *host,
		    gpumap_report *report);

/* A profile's settings without hosts and ranks. */
int job_alone(gpumap_plan **ret, const gpumap_profile *profile, gpumap_report *report);
/* Gives the plan the program of a profile. GPUMAP_ENOMEM. */
int job_arguments_of(gpumap_plan *plan, const gpumap_profile *profile);

/* --- the environment of a rank ------------------------------------------------------------ */

/* A rank by the plan's numbers, or by those of the launcher that started it. -1 and NULL: not
 * known. */
struct job_rank {
	int64_t rank, world_size, local_rank, local_size, node, nodes;
	int64_t row; /* the rank whose exceptions in the plan apply; -1: none apply */
	const char *host;
	const struct local_rank *local; /* without a `visible` the list stays unchanged */
	const char *device_order;
};

/* Fills in a rank by the plan's numbers. False: the plan has no such rank. */
bool job_rank_at(const gpumap_plan *plan, int64_t rank, struct job_rank *ret);

/* %r, %l and the others for a rank; `stream` may be NULL. */
struct macros job_macros(const gpumap_plan *plan, const struct job_rank *at, const char *stream);

/* Variables of a rank besides torchrun's, for a gpumap that the rank starts: the run's id, the
 * rank's number, and its own GPUs, as a visible list in PCI order. */
#define RUN_ID "GPUMAP_RUN_ID"
#define RUN_RANK "GPUMAP_RUN_RANK"
#define RUN_GPUS "GPUMAP_RUN_GPUS"

/* Whether the ranks get rank variables. With them a single program would wait for other ranks. */
bool job_sets_ranks(const gpumap_plan *plan, int64_t world_size);

/* The same as the public functions of similar names, which use the plan's own numbers. job_environ
 * does not unset the variables of other launchers. */
int job_environ(const gpumap_plan *plan, const struct job_rank *rank, const char *const *envp,
		int (*fn)(const char *name, const char *value, void *data), void *data);
int job_expand(char **ret, const gpumap_plan *plan, const char *key, const struct job_rank *rank,
	       const char *stream, gpumap_report *report);
int job_arguments(char ***ret, const gpumap_plan *plan, const struct job_rank *rank,
		  gpumap_report *report);
/* Of a variable, for CLEANUP; NULL: there are none. */
void job_free_arguments(char ***arguments);

/* A plan from its JSON. */
struct json_t;
int job_read(gpumap_plan **ret, const struct json_t *o, const char *origin, gpumap_report *report);

/* The profile's settings there; the texts belong to it. */
struct place;
int node_settings_read(struct plan_settings *ret, const gpumap_profile *profile,
		       const struct place *place, gpumap_report *report);

/* plan_settings by host. Hosts with equal settings share a pointer. The texts belong to the
 * profile. */
struct node_settings {
	struct arena arena;
	struct plan_settings whole;
	const struct plan_settings **of; /* by host; NULL: the whole plan's */
};
int node_settings_make(struct node_settings *ret, const gpumap_profile *profile,
		       const gpumap_hosts *hosts, gpumap_report *report);

#endif
