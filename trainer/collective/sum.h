/* SPDX-License-Identifier: MIT */
/* Sums over ranks in the order of ranks, with the same bits on every rank. */
#ifndef TRAIN_COLLECTIVE_SUM_H
#define TRAIN_COLLECTIVE_SUM_H

#include <stdint.h>

/* ((from[0] + from[1]) + from[2]) + ..., n floats, to each of `copies` arrays, which may be the
 * inputs. */
void sum_ranks(float *const *to, int copies, const float *const *from, int world, int64_t n);

/* A rank's part of n values: whole cache lines, except for the last. */
struct sum_part {
	int64_t first, n;
};
struct sum_part sum_part(int64_t n, int world, int rank);

#endif
