/* SPDX-License-Identifier: MIT */
/* Sums of rows of floats, in one order whatever the processor. */
#ifndef TEST_FAKE_ROWS_H
#define TEST_FAKE_ROWS_H

#include <stddef.h>

#include "base/simd.h"

/* to[i] += factor * from[i] */
SIMD_BODY void add_row(float *to, const float *from, float factor, int count)
{
#pragma omp simd
	for (int i = 0; i < count; i++)
		to[i] += factor * from[i];
}

/* That of `rows` rows, one after the other, which lie `stride` apart. */
SIMD_BODY void add_rows(float *to, const float *from, size_t stride, const float *factors, int rows,
			int count)
{
	int row = 0;

	for (; row + 4 <= rows; row += 4) {
		const float *a = from + (size_t)row * stride, *b = a + stride, *c = b + stride;
		const float *d = c + stride, *f = factors + row;

#pragma omp simd
		for (int i = 0; i < count; i++)
			to[i] = to[i] + f[0] * a[i] + f[1] * b[i] + f[2] * c[i] + f[3] * d[i];
	}
	for (; row < rows; row++)
		add_row(to, from + (size_t)row * stride, factors[row], count);
}

#endif
