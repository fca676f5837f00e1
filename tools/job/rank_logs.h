/* SPDX-License-Identifier: MIT */
/* The log files of ranks: their folders, their names, and which of a rank's streams they get. */
#ifndef GM_RANK_LOGS_H
#define GM_RANK_LOGS_H

#include "arena.h"
#include "launch/launch.h"
#include "plan/job.h"

/* State while the files are made, rank by rank; set the first three members before. */
struct rank_logs {
	struct arena *arena; /* keeps the paths */
	const gpumap_plan *plan;
	gpumap_report *report;
	const char *folder; /* the new folder, for files without a log_dir; NULL: none was made */
	const char *made;   /* the last folder that was made */
};

/* Whether every rank with log files has a valid name for them. False after a finding. */
bool rank_logs_check(const gpumap_plan *plan, gpumap_report *report);
/* Fills in the log files of `rank` and makes their folder. Its numbers must be set. */
int rank_logs_make(struct rank_logs *logs, struct launch_rank *rank);
/* Removes the empty log files from the new folder, because no rank was started. */
void rank_logs_discard(const struct rank_logs *logs, const struct launch *launch);

#endif
