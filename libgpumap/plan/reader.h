/* SPDX-License-Identifier: MIT */
/* What the readers of a plan's JSON share. */
#ifndef GM_PLAN_READER_H
#define GM_PLAN_READER_H

#include <jansson.h>

#include "plan/job.h"

/* Reading goes on after the first fault, which is the one that is told. */
struct plan_reader {
	gpumap_plan *plan;
	const char *origin;
	gpumap_report *report;
	const struct plan_layout **layouts; /* by node */
	int r;
};

/* Notes that a member is not as it should be. */
int reader_refuse(struct plan_reader *reader, const char *member, const char *what);

/* The member of that type; NULL after a fault. */
const json_t *reader_member(struct plan_reader *reader, const json_t *o, const char *key,
			    json_type type);
const json_t *reader_array(struct plan_reader *reader, const json_t *o, const char *key);

/* A text, or NULL where it is null; as `word` it must be there, and is never NULL. */
const char *reader_text(struct plan_reader *reader, const json_t *o, const char *key);
const char *reader_word(struct plan_reader *reader, const json_t *o, const char *key);

/* From 0 to `most`; `nothing` where it is null, unless that is INT64_MIN. */
int64_t reader_integer(struct plan_reader *reader, const json_t *o, const char *key, int64_t most,
		       int64_t nothing);

/* For `count` and one more in the plan; NULL after a fault. */
void *reader_room(struct plan_reader *reader, size_t count, size_t size);

/* Settings, arguments, environment, steps and findings. */
void read_job(struct plan_reader *reader, const json_t *o);

#endif
