/* SPDX-License-Identifier: MIT */
/* A step of a job: its size, and the GPUs of its tasks. */
#ifndef GM_REHEARSE_SLURM_STEP_H
#define GM_REHEARSE_SLURM_STEP_H

#include <sys/types.h>

#include "rehearse/slurm.h"
#include "rehearse/slurm_input.h"

#define SLURM_MORE_FILES "ulimit -n $(ulimit -Hn) raises the limit"

struct step {
	struct slurm_wish wish;
	struct slurm_size size;
	int number, failed;       /* failed: an errno of taking the GPUs; 0: none */
	int64_t job_nodes, first; /* nodes of the job, and the first of them that the step has */
	int job_gpus[SLURM_GPUS_MAX]; /* on each node */
	int64_t job_count;
	/* of each node: its GPUs, and the descriptors of their locks (0: none) */
	int gpus[SLURM_NODES_MAX][SLURM_GPUS_MAX];
	int locks[SLURM_NODES_MAX][SLURM_GPUS_MAX];
	char nodes[256], counts[512];
	char **argv;
	struct task {
		pid_t pid;
		bool running;
	} * tasks; /* by rank */
	int64_t running;
	bool groups; /* each task has a process group of its own */
	struct slurm_input input;
};

/* What srun asks for, in the job that the environment describes. STATUS_ANSWERED, or a status after
 * a message. */
int step_settle(struct step *step);
/* Opens a file of the rehearsal's folder. -1 with errno. */
int step_open(const char *name);
/* Takes the GPUs of the step, and waits for them. The same statuses. */
int step_wait(struct step *step);
/* The GPUs of the i-th task of a node, by --gpu-bind (rule L5). Returns how many, -1: the list is
 * not set. */
int64_t step_own_gpus(const struct step *step, const int *gpus, int64_t i, int *ret);

#endif
