/* SPDX-License-Identifier: MIT */
/* Standard input of srun, which all tasks of the step have. */
#ifndef GM_REHEARSE_SLURM_INPUT_H
#define GM_REHEARSE_SLURM_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct slurm_input {
	enum {
		INPUT_INHERITED, /* one task, or a device such as /dev/null */
		INPUT_TERMINAL,  /* the first task has it */
		INPUT_FILE,      /* each task opens it again */
		INPUT_COPIED     /* a process copies it to a pipe of each task */
	} kind;
	int64_t tasks;
	int *pipes; /* the reading and the writing end for each task */
	pid_t copier;
};

/* False: errno has the reason. */
bool input_open(struct slurm_input *input, int64_t tasks);
/* In the process of a task. */
void input_take(const struct slurm_input *input, int64_t rank);
/* When all tasks are started. */
void input_copy(struct slurm_input *input);
void input_close(struct slurm_input *input);

#endif
