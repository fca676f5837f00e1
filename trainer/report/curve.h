/* SPDX-License-Identifier: MIT */
/* A value over steps in bounded memory: when it is full, neighbours are joined, with their
 * extremes, so that no spike is lost. */
#ifndef TRAIN_REPORT_CURVE_H
#define TRAIN_REPORT_CURVE_H

#include <stdbool.h>
#include <stdint.h>

/* Each gives at most two points of a picture. */
enum { CURVE_BUCKETS = 1000 };

struct curve_bucket {
	int64_t count; /* values that are numbers */
	int64_t bad;   /* and others: NaN, infinity */
	double sum, min, max;
	int64_t at_min, at_max, at_bad; /* steps; at_bad: the first */
};

struct curve {
	int64_t first, last; /* steps */
	int64_t width;       /* steps of a bucket; 0: empty */
	int used;
	struct curve_bucket buckets[CURVE_BUCKETS];
};

/* Steps ascend; one that does not is joined with those of its bucket. All zero is empty. */
void curve_add(struct curve *curve, int64_t step, double value);

/* Minimum and maximum; false without a number. NULL arguments are ignored. */
bool curve_range(const struct curve *curve, double *min, double *max);
int64_t curve_count(const struct curve *curve);
int64_t curve_bad(const struct curve *curve);

/* The mean around a bucket, weighted by a bell curve with a deviation of so many buckets. */
double curve_smooth(const struct curve *curve, int bucket, double deviation);

#endif
