/* SPDX-License-Identifier: MIT */
/* When each part of a step began and ended, by rank and lane, and as pictures. */
#ifndef TRAIN_REPORT_TIMELINE_H
#define TRAIN_REPORT_TIMELINE_H

#include <stdint.h>

#include "error.h"

/* One recorder per thread that does something: a lane of the picture. */
enum timeline_lane { TIMELINE_COMPUTE, TIMELINE_COMMUNICATION };

enum { TIMELINE_NAME = 40 };

struct timeline_interval {
	char name[TIMELINE_NAME]; /* "conv2 backward weights", "bucket 0" */
	int32_t rank, device;     /* physical */
	int32_t lane, step;
	int64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC, which the ranks of one machine share */
};

struct timeline;

/* Room for `most` intervals; what comes after is counted, not kept. */
bool timeline_open(struct timeline **timeline, int rank, int device, enum timeline_lane lane,
		   int max, struct train_error *error);
void timeline_close(struct timeline *timeline);

int64_t timeline_now(void);
/* While `step` is not below 0 intervals are kept, as parts of that step. */
void timeline_step(struct timeline *timeline, int step);
bool timeline_on(const struct timeline *timeline); /* whether they are; NULL: no */
/* Whose time it is: of a stream it is known when all on it was waited for. */
struct timeline_clock {
	int64_t (*mark)(void *argument);             /* now, or what it can be asked for by */
	int64_t (*ns)(void *argument, int64_t mark); /* of CLOCK_MONOTONIC; 0: forget all marks */
	void *argument;
};
void timeline_clock(struct timeline *timeline, const struct timeline_clock *clock);
/* A mark of now; 0 where intervals are not kept. timeline NULL is nothing in these. The end of what
 * is added is now. settle, of those with a clock, after the stream was waited for. */
int64_t timeline_begin(const struct timeline *timeline);
void timeline_add(struct timeline *timeline, const char *name, int64_t begin);
void timeline_settle(struct timeline *timeline);
/* The step that intervals are kept of, or -1. */
int timeline_at(const struct timeline *timeline);
/* Of a step: how long its intervals called NAME took, all of them if that is NULL, in ns; -1 where
 * they are not known. */
int64_t timeline_took(const struct timeline *timeline, int step, const char *name);
int timeline_count(const struct timeline *timeline);
int64_t timeline_lost(const struct timeline *timeline); /* what had no room */
const struct timeline_interval *timeline_intervals(const struct timeline *timeline);

/* All ranks' intervals, in any order, as SVG: a row for each rank and lane, and a table of the sums
 * by name. Of intervals shorter than a pixel the longest in it is drawn. `who` is what a rank is
 * called: "rank", or in one of several replicas "replica". FILE appears whole or not at all. */
bool timeline_svg(const char *file, const struct timeline_interval *intervals, int count,
		  const char *who, struct train_error *error);
/* In the trace-event format ("ph": "X", microseconds) that tracing pages of browsers read: a
 * process is a rank, a thread a lane. */
bool timeline_json(const char *file, const struct timeline_interval *intervals, int count,
		   const char *who, struct train_error *error);

#endif
