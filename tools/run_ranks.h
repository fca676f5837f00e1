/* SPDX-License-Identifier: MIT */
/* A plan's ranks of one node, in the form that launch_run() takes. */
#ifndef GM_RUN_RANKS_H
#define GM_RUN_RANKS_H

#include "arena.h"
#include "launch/launch.h"
#include "speech.h"

struct run_ranks {
	struct arena arena;
	struct launch launch;
	struct speech speech; /* of the plan */
	const char *logs;     /* the new folder that was made for logs; NULL: none was */
	struct launch_rank *ranks;
	size_t first;          /* number of the first rank */
	char **restart_counts; /* each rank's TORCHELASTIC_RESTART_COUNT=N */
	char ***arguments;     /* freed with the ranks */
};

/* Also makes the folders of the logs. The tags of lines have `name` before the rank, unless it is
 * NULL. Free `ret` in any case. */
int run_ranks_make(struct run_ranks *ret, const gpumap_plan *plan, int64_t node, const char *name,
		   gpumap_report *report);
/* Removes the empty log files in a folder that was made for them, because no rank was started. */
void run_ranks_no_logs(const struct run_ranks *ranks);
void run_ranks_free(struct run_ranks *ranks);

#endif
