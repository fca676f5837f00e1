/* SPDX-License-Identifier: MIT */
/*
 * The threads of a simulated device, for the trainer's own loops. They are those of the OpenMP that
 * oneDNN is linked with, so that one team does all the work. It is called through the entry points
 * that compilers use, because the compiler's own OpenMP may be another library.
 */
#ifndef TRAIN_BACKEND_CPU_TEAM_H
#define TRAIN_BACKEND_CPU_TEAM_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_team {
	int threads;
	void (*parallel)(void (*work)(void *), void *argument, unsigned threads, unsigned flags);
	int (*rank)(void), (*size)(void);
};

/* Sets how many threads the calling thread's parallel work takes. False: more than one is asked
 * for and there is no OpenMP. */
bool cpu_team_open(struct cpu_team *team, int threads);

/* Calls work(argument, first, last) on equal parts of 0..count, one for each thread. */
void cpu_team_run(const struct cpu_team *team, int64_t count,
		  void (*work)(void *argument, int64_t first, int64_t last), void *argument);

/* The same for values: parts begin at multiples of 1024, so that no thread writes to a cache line
 * of another. */
void cpu_team_run_values(const struct cpu_team *team, int64_t count,
			 void (*work)(void *argument, int64_t first, int64_t last), void *argument);

#endif
