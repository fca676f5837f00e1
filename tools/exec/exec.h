/* SPDX-License-Identifier: MIT */
/*
 * One rank that another launcher started: its number, its environment and its place.
 *
 *	environment, options --> exec_identify() --+
 *	plan, or profile     --> exec_plan() ------+-> exec_meet() -> exec_prepare() -> its program
 */
#ifndef GM_EXEC_H
#define GM_EXEC_H

#include "job/plan_open.h"
#include "launch/bind.h"
#include "plan/job.h"
#include "request/rank_identity.h"

struct exec_options {
	struct plan_options plan;
	const char *rank, *world_size, *local_rank; /* --rank and so on; NULL: not given */
};

/* A variable that changes; value NULL: it is unset. */
struct exec_change {
	char *name, *value;
};

struct exec {
	const struct exec_options *options;
	gpumap_report *report;

	const char *row; /* the name in rule R1's table; NULL: only options */
	struct rank_identity rows[RANK_IDENTITY_ROWS];
	size_t row_count;
	char here[256]; /* this machine's name */

	gpumap_plan *plan;
	gpumap_plan *node_plan; /* of this node alone, which `local` is of; NULL: there is none */
	struct job_rank rank;
	struct local_rank local; /* of the rank, within this process */

	struct exec_change *changes;
	size_t change_count, change_room;
	char **arguments;
	struct launch_rank launch;
	struct arena arena;
};

/* Rules R1 and R2: fills in the numbers of exec->rank. GPUMAP_EINPUT: they cannot be determined. */
int exec_identify(struct exec *exec);
/* Whether a launcher's row has the same numbers. */
bool exec_agrees(const struct exec *exec, const struct rank_identity *row);
/* Fills in the numbers that follow from other numbers, for example on a single node. */
void exec_derive(struct job_rank *rank);

/* Reads or makes the plan, and finds this rank's place in it. */
int exec_plan(struct exec *exec);
/* Does the same with the file of --plan. */
int exec_plan_file(struct exec *exec);

/* Applies rule R3 to this rank: finds the device that its program uses with the list that it gets.
 * `inventory` NULL: only the devices that the list names are known. */
int exec_check_use(struct exec *exec, const gpumap_inventory *inventory);
/* Reports a list of the rank that is not Slurm's (rule L3). */
void exec_check_grant(struct exec *exec);
/* Whether the launcher gave each task of this node a list of its own. */
bool exec_own_list(const struct exec *exec);
/* Whether this rank's GPUs are fixed, by such a list or by the gpumap run that started it. */
bool exec_own_gpus(const struct exec *exec);

/* Determines where the ranks meet, and the run's id. */
int exec_meet(struct exec *exec);

/* Determines the variables that change. */
int exec_change(struct exec *exec);
/* Does that, and determines the arguments, the folder and the cores. */
int exec_prepare(struct exec *exec);
/* Does all of these. Set `options` and `report` before; free `exec` in any case. */
int exec_make(struct exec *exec);
/* Binds cores and memory, within what this process may use. */
int exec_bind(struct exec *exec);
/* Whether this process may use only some of the machine's cores: its launcher has bound it. */
bool exec_is_bound(const gpumap_hosts *hosts);

void exec_free(struct exec *exec);

/* The changes as text or JSON, for --dry-run; `exec` NULL: only the findings, in JSON.
 * The caller frees it. */
char *exec_text(const struct exec *exec, const gpumap_report *report, enum gpumap_format format);

/* A variable that is set and not empty, else NULL. */
const char *exec_variable(const char *name);

#endif
