/* SPDX-License-Identifier: MIT */
/* What a job asks Slurm for: the options of sbatch and srun, and of #SBATCH lines. */
#ifndef GM_LINT_SLURM_H
#define GM_LINT_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

/* The values of #SBATCH lines or of srun; -1: not given. Nodes may be 0: given, but not known. */
struct slurm {
	int64_t per_node, per_task, tasks, tasks_per_node, nodes;
	int64_t total; /* --gpus, of the whole job */
	int64_t bound; /* --gpu-bind: the GPUs that each task sees; 0: not known */
	/* The values as written; .text NULL: not given. */
	struct span node_gpus, task_gpus, all_gpus, bind;
	bool nodes_exact; /* nodes is not a minimum */
	bool array;       /* --array: several jobs run this script at the same time */
	bool tasks_here;  /* srun itself has the number of tasks, which is not per node */
	bool has_tasks, has_tasks_per_node, has_nodes; /* are given here */
	bool unbound;                                  /* --gpu-bind=none */
	bool shared;          /* another --gpu-bind, by which tasks share GPUs */
	bool exclusive;       /* the job may have all GPUs of its nodes */
	bool exports_nothing; /* --export=NONE */
	bool gres, gpus;      /* --gres=gpu and --gpus-per-node are given */
	bool parts;           /* the job has several parts, with requests of their own */
};

static inline struct slurm slurm_unknown(void)
{
	return (struct slurm){.per_node = -1,
			      .per_task = -1,
			      .tasks = -1,
			      .tasks_per_node = -1,
			      .nodes = -1,
			      .total = -1,
			      .bound = -1};
}

/* A job of several parts: which of them a step runs in is not followed. `array`: as the member. */
static inline struct slurm slurm_of_parts(bool array)
{
	struct slurm slurm = slurm_unknown();

	slurm.parts = true;
	slurm.array = array;
	return slurm;
}

/* -n4, -n 4, --ntasks=4, --ntasks 4, --label */
struct slurm_option {
	struct span name;  /* without dashes */
	struct span value; /* "": none */
	size_t words;
};

/* The option that is `word`, which has a - and more; `after` is the next word. `batch`: of sbatch,
 * or of a #SBATCH line. */
struct slurm_option slurm_option(struct span word, struct span after, bool batch);
/* Whether Slurm has an option of this name; of one letter any. */
bool slurm_knows(struct span name);
/* Options that no member is for are left out. */
void slurm_take(struct slurm *slurm, const struct slurm_option *option);
/* After the last option: a job of one node has all of its GPUs there. */
void slurm_settle(struct slurm *slurm);

/* The next word of a #SBATCH line, which begins in front of `rest`; "" at its end. */
struct span slurm_word(struct span *rest);

/* shell_job.c: calls `put` with each variable that Slurm derives from the options; .text NULL: its
 * value is not known, or it is not set. `same`: the options for GPUs are those of the job. `step`:
 * they are those of srun. */
void slurm_each_variable(const struct slurm *slurm, bool step, bool same,
			 void (*put)(void *data, const char *name, struct span value), void *data);

#endif
