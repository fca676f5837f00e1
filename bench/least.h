/* SPDX-License-Identifier: MIT */
/* A lower bound for the time that communication adds to a step. */
#ifndef BENCH_LEAST_H
#define BENCH_LEAST_H

/*
 * Buckets are summed in their order on one stream: bucket i begins when it is ready[i] and the one
 * before is done, and takes took[i] >= 0. `end` is when backward is done. Returns how much later
 * the last of `count` buckets is done: 0 if it is done earlier, or if there is no bucket. All times
 * have one clock and one unit; ready[i] may be in any order, and `end` before the last of them.
 */
static inline double least_exposed(const double *ready, const double *took, int count, double end)
{
	double done = end;

	for (int i = 0; i < count; i++)
		done = (i == 0 || ready[i] > done ? ready[i] : done) + took[i];
	return done > end ? done - end : 0;
}

#endif
