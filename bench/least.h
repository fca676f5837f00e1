/* SPDX-License-Identifier: MIT */
/* The least that communication can add to a step, whoever measures its parts. */
#ifndef BENCH_LEAST_H
#define BENCH_LEAST_H

/*
 * Buckets are summed in their order on one stream: bucket i begins when it is ready[i] and the one
 * before is done, and takes took[i] >= 0. Returns how long after `end`, when backward is done, the
 * last of `count` is: 0 if it is done before, or if there is none. All times are of one clock, in
 * one unit; ready[i] may be in any order, and `end` before the last of them.
 */
static inline double least_exposed(const double *ready, const double *took, int count, double end)
{
	double done = end;

	for (int i = 0; i < count; i++)
		done = (i == 0 || ready[i] > done ? ready[i] : done) + took[i];
	return done > end ? done - end : 0;
}

#endif
