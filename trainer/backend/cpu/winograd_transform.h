/* SPDX-License-Identifier: MIT */
/* The transforms of cpu/winograd.c, of 8 channels at a time, and how transformed values lie. */
#ifndef TRAIN_BACKEND_CPU_WINOGRAD_TRANSFORM_H
#define TRAIN_BACKEND_CPU_WINOGRAD_TRANSFORM_H

#include <immintrin.h>
#include <stdint.h>

#include "backend/cpu/product.h"
#include "base/simd.h"

enum {
	LANES = 8,
	PANEL = PRODUCT_PANEL,
	OUT = 4,
	KERNEL = 3,
	KERNEL_PLACES = KERNEL * KERNEL,
	TILE = 6,
	PLACES = TILE * TILE,
	TILES = 24,          /* of one thread at a time in forward: V and M stay in its caches */
	GRADIENT_TILES = 96, /* of all threads in backward */
	APART = 16           /* floats between slices, or they would fall on the same lines */
};

/* Floats from one slice to the next. */
static inline int64_t slice(int64_t rows, int64_t channels)
{
	return rows * channels + APART;
}

/* One dimension of each transform; `by` is the distance between elements. */

/* B^T d */
SIMD_FMA static inline void transform_input(__m256 *d, int by)
{
	__m256 even = d[4 * by] - 4 * d[2 * by], odd = d[3 * by] - 4 * d[by];
	__m256 even2 = d[4 * by] - d[2 * by], odd2 = 2 * (d[3 * by] - d[by]);

	d[0] = 4 * d[0] - 5 * d[2 * by] + d[4 * by];
	d[5 * by] = 4 * d[by] - 5 * d[3 * by] + d[5 * by];
	d[by] = even + odd;
	d[2 * by] = even - odd;
	d[3 * by] = even2 + odd2;
	d[4 * by] = even2 - odd2;
}

/* A^T m */
SIMD_FMA static inline void transform_output(__m256 *m, int by)
{
	__m256 sum = m[by] + m[2 * by], difference = m[by] - m[2 * by];
	__m256 sum2 = m[3 * by] + m[4 * by], difference2 = m[3 * by] - m[4 * by];

	m[0] = m[0] + sum + sum2;
	m[by] = difference + 2 * difference2;
	m[2 * by] = sum + 4 * sum2;
	m[3 * by] = difference + 8 * difference2 + m[5 * by];
}

/* A y */
SIMD_FMA static inline void transform_gradient(__m256 *y, int by)
{
	__m256 even = y[0] + y[2 * by], odd = y[by] + y[3 * by];
	__m256 even2 = y[0] + 4 * y[2 * by], odd2 = 2 * y[by] + 8 * y[3 * by];

	y[5 * by] = y[3 * by];
	y[by] = even + odd;
	y[2 * by] = even - odd;
	y[3 * by] = even2 + odd2;
	y[4 * by] = even2 - odd2;
}

/* G g */
SIMD_FMA static inline void transform_weights(__m256 *g, int by)
{
	__m256 ends = g[0] + g[2 * by], ends2 = g[0] * (1 / 24.0f) + g[2 * by] * (1 / 6.0f);
	__m256 middle = g[by], last = g[2 * by];

	g[0] = g[0] * 0.25f;
	g[by] = (ends + middle) * (-1 / 6.0f);
	g[2 * by] = (ends - middle) * (-1 / 6.0f);
	g[3 * by] = ends2 + middle * (1 / 12.0f);
	g[4 * by] = ends2 - middle * (1 / 12.0f);
	g[5 * by] = last;
}

/* G^T u */
SIMD_FMA static inline void transform_weight_gradient(__m256 *u, int by)
{
	__m256 sum = (u[by] + u[2 * by]) * (1 / 6.0f), sum2 = u[3 * by] + u[4 * by];
	__m256 difference = (u[2 * by] - u[by]) * (1 / 6.0f);
	__m256 difference2 = (u[3 * by] - u[4 * by]) * (1 / 12.0f);

	u[0] = u[0] * 0.25f - sum + sum2 * (1 / 24.0f);
	u[by] = difference + difference2;
	u[2 * by] = sum2 * (1 / 6.0f) - sum + u[5 * by];
}

#endif
