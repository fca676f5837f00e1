/* SPDX-License-Identifier: MIT */
/* The record of a run: its plan, what it changed in the environment, versions, times, exits. */
#ifndef GM_RUN_RECORD_H
#define GM_RUN_RECORD_H

#include "job/run_plan.h"
#include "job/run_ranks.h"

struct record {
	const struct run *run;
	const struct run_ranks *ranks;
	const struct launch_result *result; /* NULL: the ranks still run */
	struct timespec started, ended;
	const gpumap_report *report;
	struct json_t *verified; /* what --verify found; NULL: nothing */
	struct json_t *plan; /* as it was before the start, because a repetition gets its own port
				and name */
};

/* Keeps a copy of the plan, if it can be run again. False without memory. record_free() frees it.
 */
bool record_plan(struct record *record, const gpumap_plan *plan);
void record_free(struct record *record);

/* Keeps what --verify found, as JSON; NULL or invalid: nothing. */
void record_verify(struct record *record, const char *found);

/* The path of the record: by the option, or in the folder of the logs. NULL: there is
 * none. The caller frees it. */
int record_place(char **ret, const struct record *record, gpumap_report *report);

/* Writes the record to `path`, whole or not at all. */
int record_write(const struct record *record, const char *path, gpumap_report *report);

/* Redirects the ranks' standard output to standard error, and keeps it for the record of --json.
 * -1: no record is wanted there. */
int record_keep_output(const struct run *run);
void record_give_back_output(int out);
/* False: it is not printed, and the report says why. */
bool record_print(const struct record *record, gpumap_report *report);

/* The word of a cause in a record: "done". */
const char *record_cause(enum launch_cause cause);

/* --- run_failure.c ---------------------------------------------------------------------- */

/* On a host without GPUs a program that needs those of a synthetic machine fails, and its own
 * message does not tell why: the report gets it. GPUMAP_ENOMEM. */
int run_explain_failure(const struct run *run, const struct launch_result *result,
			gpumap_report *report);

/* --- read_record.c ---------------------------------------------------------------------- */

/* In the following, `path` may be a folder with records: then it is the one that was written last.
 * GPUMAP_EINPUT: not a record. */

/* The plan in a record, to run it again. */
int record_read(gpumap_plan **ret, const char *path, gpumap_report *report);

/* What a record has of its run. Texts are escaped, but for the name. */
struct record_past {
	char *run;
	char *end;   /* "20261129-032020-7 on host ended at 2026-11-29T03:20:27.549Z with status 0";
			NULL: the record does not have that */
	char *log;   /* of the rank that failed first; NULL: none did, or it has none */
	char *lines; /* the last ones of that log; NULL: it has none from this run */
	struct json_t
		*verified; /* what --verify found, as gpumap verify --json prints it; or NULL */
};

int record_look(struct record_past *ret, const char *path, gpumap_report *report);
void record_past_free(struct record_past *past);

#endif
