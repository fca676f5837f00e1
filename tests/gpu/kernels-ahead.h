/* SPDX-License-Identifier: MIT */
/* References take longer than kernels, so threads compute those of the next trials. */
#ifndef KERNELS_AHEAD_H
#define KERNELS_AHEAD_H

#include "kernels-trial.h"

struct job {
	const struct kernel_test *test;
	const struct shape *shape;
	uint64_t seed;
	bool poisons;
	bool skipped;        /* before begin_ahead() */
	struct trial *trial; /* once it is prepared */
};

/* Threads begin to prepare the trials, in their order; as many are ready at most. */
void begin_ahead(struct job *jobs, int count, int threads);
/* Waits for the trial of a job, the next that is not skipped. The caller ends it by end_ahead(). */
struct trial *ahead_trial(struct job *job);
void end_ahead(struct job *job);

#endif
