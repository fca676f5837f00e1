/* SPDX-License-Identifier: MIT */
/* Intervals in order, and their sums. */
#ifndef TRAIN_REPORT_TIMELINE_ROWS_H
#define TRAIN_REPORT_TIMELINE_ROWS_H

#include "report/timeline.h"

/* Intervals of one name. */
struct timeline_kind {
	const char *name;
	int64_t count, ns;
	int by_name; /* its place in the order of names */
};

/* One rank and lane. */
struct timeline_row {
	int32_t rank, lane, device;
	int first, count; /* of the intervals in order */
};

struct timeline_start {
	int32_t step;
	int64_t ns; /* the earliest begin of any rank in it */
};

struct timeline_rows {
	int count;
	const struct timeline_interval **order; /* by rank, lane, begin; of two that begin together
						 * the longer first */
	int *kind;                              /* of each in order: an index into kinds */
	struct timeline_kind *kinds;            /* the longest sum first */
	struct timeline_row *rows;
	struct timeline_start *starts; /* by step */
	int kinds_count, rows_count, starts_count;
	int64_t begin_ns, end_ns;
	int ranks; /* how many different ones there are */
};

void timeline_rows_make(struct timeline_rows *rows, const struct timeline_interval *intervals,
			int count);
void timeline_rows_free(struct timeline_rows *rows);

const char *timeline_lane_name(int lane);
int64_t timeline_duration(const struct timeline_interval *interval); /* never negative */

#endif
