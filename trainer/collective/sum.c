/* SPDX-License-Identifier: MIT */
/* See sum.h. */
#include "collective/sum.h"

#include <string.h>

#include "base/simd.h"

/* Floats. A tile of each rank stays in the first cache until the sum is written. */
enum { TILE = 512, LINE = 16 };

SIMD_BODY void add_two(float *restrict sum, const float *restrict a, const float *restrict b,
		       int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		sum[i] = a[i] + b[i];
}

SIMD_BODY void add_more(float *restrict sum, const float *restrict a, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		sum[i] += a[i];
}

SIMD_BODY void add_all(float *sum, const float *const *from, int world, int64_t at, int64_t n)
{
	if (world > 1)
		add_two(sum, from[0] + at, from[1] + at, n);
	else
		memcpy(sum, from[0] + at, (size_t)n * sizeof(*sum));
	for (int r = 2; r < world; r++)
		add_more(sum, from[r] + at, n);
}

SIMD_BOTH(void, add, (float *sum, const float *const *from, int world, int64_t at, int64_t n),
	  add_all(sum, from, world, at, n);)

void sum_ranks(float *const *to, int copies, const float *const *from, int world, int64_t n)
{
	_Alignas(64) float sum[TILE];
	bool fma = simd_has_fma();

	for (int64_t at = 0; at < n; at += TILE) {
		int64_t count = n - at < TILE ? n - at : TILE;

		(fma ? add_fma : add_plain)(sum, from, world, at, count);
		for (int c = 0; c < copies; c++)
			memcpy(to[c] + at, sum, (size_t)count * sizeof(*sum));
	}
}

struct sum_part sum_part(int64_t n, int world, int rank)
{
	int64_t lines = n / LINE + (n % LINE != 0);
	int64_t each = (lines / world + (lines % world != 0)) * LINE;
	int64_t first = each * rank < n ? each * rank : n;

	return (struct sum_part){first, n - first < each ? n - first : each};
}
