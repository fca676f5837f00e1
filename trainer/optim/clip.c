/* SPDX-License-Identifier: MIT */
/* See clip.h. */
#include "clip.h"

#include <math.h>

#include "base/simd.h"

SIMD_BODY float norm_body(const float *x, int64_t n, float scale)
{
	enum { LANES = 8 };
	float sums[LANES] = {0};
	int64_t whole = n - n % LANES;
	float sum;

	for (int64_t i = 0; i < whole; i += LANES)
#pragma omp simd
		for (int lane = 0; lane < LANES; lane++) {
			float scaled = x[i + lane] * scale;

			sums[lane] = fmaf(scaled, scaled, sums[lane]);
		}
	sum = sums[0];
	for (int lane = 1; lane < LANES; lane++)
		sum += sums[lane];
	for (int64_t i = whole; i < n; i++)
		sum = fmaf(x[i] * scale, x[i] * scale, sum);
	return sqrtf(sum);
}

SIMD_BOTH(float, norm, (const float *x, int64_t n, float scale), return norm_body(x, n, scale);)

float clip_norm(const float *x, int64_t n, float scale)
{
	return (simd_has_fma() ? norm_fma : norm_plain)(x, n, scale);
}
