/* SPDX-License-Identifier: MIT */
/* The begin and end of each part of a step, by rank and lane, and pictures of them. */
#ifndef TRAIN_REPORT_TIMELINE_H
#define TRAIN_REPORT_TIMELINE_H

#include <stdint.h>

#include "base/error.h"

/* One recorder per thread: a lane of the picture. */
enum timeline_lane { TIMELINE_COMPUTE, TIMELINE_COMMUNICATION };

enum { TIMELINE_NAME = 40 };

struct timeline_interval {
	char name[TIMELINE_NAME]; /* "conv2 backward weights", "bucket 0" */
	int32_t rank, device;     /* physical */
	int32_t lane, step;
	int64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC, which the ranks of one machine share */
};

/* The clock: the times of a stream are known after waiting for it. */
struct timeline_clock {
	int64_t (*mark)(void *argument);             /* now, or a mark of it */
	int64_t (*ns)(void *argument, int64_t mark); /* of CLOCK_MONOTONIC; 0: forget all marks */
	void *argument;
};

struct timeline {
	int rank, device, step;
	enum timeline_lane lane;
	int count, max, settled;
	int64_t lost;                /* intervals that had no room */
	struct timeline_clock clock; /* none: of the thread that adds */
	struct timeline_interval intervals[];
};

/* Room for `max` intervals; later ones are counted, not kept. */
struct timeline *timeline_open(int rank, int device, enum timeline_lane lane, int max);
void timeline_close(struct timeline *timeline);

/* While `step` is not below 0 intervals are kept, as parts of that step. */
void timeline_step(struct timeline *timeline, int step);
bool timeline_on(const struct timeline *timeline); /* whether they are kept; NULL: no */
void timeline_clock(struct timeline *timeline, const struct timeline_clock *clock);
/* A mark of now; 0 if intervals are not kept. In these, timeline may be NULL. An added interval
 * ends now. Call settle, for time lines with a clock, after waiting for the stream. */
int64_t timeline_begin(const struct timeline *timeline);
void timeline_add(struct timeline *timeline, const char *name, int64_t begin);
void timeline_settle(struct timeline *timeline);
/* The step that intervals are kept of, or -1. */
int timeline_at(const struct timeline *timeline);
/* The time of a step's intervals called NAME, or of all if that is NULL, in ns; -1: not known. */
int64_t timeline_took(const struct timeline *timeline, int step, const char *name);

/* All ranks' intervals, in any order, as SVG: a row for each rank and lane, and a table of the sums
 * by name. Of intervals shorter than a pixel the longest in it is drawn. `who` names a lane:
 * "rank", or "replica" in a rank of several. FILE is replaced atomically. */
bool timeline_svg(const char *file, const struct timeline_interval *intervals, int count,
		  const char *who, struct train_error *error);
/* In the trace-event format ("ph": "X", microseconds) that tracing pages of browsers read: a
 * process is a rank, a thread a lane. */
bool timeline_json(const char *file, const struct timeline_interval *intervals, int count,
		   const char *who, struct train_error *error);

#endif
