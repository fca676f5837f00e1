/* SPDX-License-Identifier: MIT */
/* A plan's ranks of one node, in the form that launch_run() takes. */
#ifndef GM_RUN_RANKS_H
#define GM_RUN_RANKS_H

#include "arena.h"
#include "job/rank_logs.h"
#include "launch/launch.h"
#include "live/published_run.h"
#include "report/speech.h"

struct run_ranks {
	struct arena arena;
	struct launch launch;
	struct speech speech; /* of the plan */
	struct rank_logs logs;
	struct run_live live; /* what the run shows of itself while it is active */
	struct launch_rank *ranks;
	size_t first;          /* number of the first rank */
	char **restart_counts; /* each rank's TORCHELASTIC_RESTART_COUNT=N */
	char ***arguments;     /* freed with the ranks */
};

/* Also makes the folders of the logs. The tags of lines have `name` before the rank, unless it is
 * NULL. Free `ret` in any case. */
int run_ranks_make(struct run_ranks *ret, const gpumap_plan *plan, int64_t node, const char *name,
		   gpumap_report *report);
/* Begins a process beside the ranks, which `launcher` has forked: it ends with that, and signals of
 * the terminal, which are for the launcher, are blocked. Its lines are whole. */
void run_ranks_watch(pid_t launcher);

void run_ranks_free(struct run_ranks *ranks);

#endif
