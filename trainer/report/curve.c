/* SPDX-License-Identifier: MIT */
/* See curve.h. */
#include "report/curve.h"

#include <math.h>
#include <string.h>

/* Larger values would overflow in the arithmetic of a picture. */
static const double max_value = 1e300;

static void join(struct curve_bucket *to, const struct curve_bucket *from)
{
	if (from->count && (!to->count || from->min < to->min)) {
		to->min = from->min;
		to->at_min = from->at_min;
	}
	if (from->count && (!to->count || from->max > to->max)) {
		to->max = from->max;
		to->at_max = from->at_max;
	}
	if (from->bad && !to->bad)
		to->at_bad = from->at_bad;
	to->count += from->count;
	to->bad += from->bad;
	to->sum += from->sum;
}

static void halve(struct curve *curve)
{
	for (int i = 0; i < CURVE_BUCKETS / 2; i++) {
		struct curve_bucket joined = curve->buckets[2 * i];

		join(&joined, &curve->buckets[2 * i + 1]);
		curve->buckets[i] = joined;
	}
	memset(curve->buckets + CURVE_BUCKETS / 2, 0,
	       sizeof(curve->buckets) - CURVE_BUCKETS / 2 * sizeof(curve->buckets[0]));
	curve->used = (curve->used + 1) / 2;
	curve->width *= 2;
}

void curve_add(struct curve *curve, int64_t step, double value)
{
	struct curve_bucket one = {.count = 1, .sum = value, .min = value, .max = value};
	int64_t place;

	one.at_min = one.at_max = step;
	if (!(fabs(value) <= max_value))
		one = (struct curve_bucket){.bad = 1, .at_bad = step};
	if (curve->width == 0) {
		curve->first = curve->last = step;
		curve->width = 1;
	}
	if (step < curve->first)
		step = curve->first;
	if (step > curve->last)
		curve->last = step;
	while ((step - curve->first) / curve->width >= CURVE_BUCKETS)
		halve(curve);
	place = (step - curve->first) / curve->width;
	join(&curve->buckets[place], &one);
	if (place >= curve->used)
		curve->used = (int)place + 1;
}

bool curve_range(const struct curve *curve, double *min, double *max)
{
	struct curve_bucket all = {.count = 0};

	for (int i = 0; i < curve->used; i++)
		join(&all, &curve->buckets[i]);
	if (!all.count)
		return false;
	if (min)
		*min = all.min;
	if (max)
		*max = all.max;
	return true;
}

int64_t curve_count(const struct curve *curve)
{
	int64_t count = 0;

	for (int i = 0; i < curve->used; i++)
		count += curve->buckets[i].count;
	return count;
}

int64_t curve_bad(const struct curve *curve)
{
	int64_t bad = 0;

	for (int i = 0; i < curve->used; i++)
		bad += curve->buckets[i].bad;
	return bad;
}

double curve_smooth(const struct curve *curve, int bucket, double deviation)
{
	int reach = (int)(3 * deviation) + 1;
	double sum = 0, weights = 0;

	for (int i = bucket - reach; i <= bucket + reach; i++) {
		double x = (i - bucket) / deviation, weight = exp(-x * x / 2);
		const struct curve_bucket *b;

		if (i < 0 || i >= curve->used || !curve->buckets[i].count)
			continue;
		b = &curve->buckets[i];
		sum += weight * (b->sum / (double)b->count);
		weights += weight;
	}
	return weights > 0 ? sum / weights : NAN;
}
