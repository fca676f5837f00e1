/* SPDX-License-Identifier: MIT */
/* Products of small float matrices by AVX2 with FMA: c[i][j] = sum over k of a[i][k] b[k][j]. */
#ifndef TRAIN_BACKEND_CPU_PRODUCT_H
#define TRAIN_BACKEND_CPU_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

enum { PRODUCT_PANEL = 16 };

#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 36")
#endif

/* Both dimensions of a transform of TILE x TILE values: rows of the first `height`, then all
 * columns. */
#define BOTH(TRANSFORM, VALUES, HEIGHT, WIDTH) \
	do { \
		UNROLL \
		for (int i_ = 0; i_ < (HEIGHT); i_++) \
			TRANSFORM((VALUES) + i_ * TILE, 1); \
		UNROLL \
		for (int i_ = 0; i_ < (WIDTH); i_++) \
			TRANSFORM((VALUES) + i_, TILE); \
	} while (0)

/* b and c are panels of 16 columns, row by row, 32-byte aligned. */
struct product {
	const float *a;
	int64_t a_row, a_depth; /* elements from one row, and one k, to the next */
	const float *b;
	float *c;
	int64_t rows, depth, panels;
	int64_t b_panel, c_panel; /* elements from one panel to the next */
	bool add;                 /* to what is in c */
};

/* Call it only if simd_has_fma(). */
void product_run(const struct product *product);

#endif
