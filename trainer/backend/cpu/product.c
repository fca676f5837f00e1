/* SPDX-License-Identifier: MIT */
/* See product.h. */
#include "backend/cpu/product.h"

#include "base/simd.h"

#ifdef SIMD_X86
#include <immintrin.h>

enum { LANES = 8, ROWS = 6 }; /* 12 sums stay in registers */

/* Some rows of one panel. */
SIMD_FMA static inline __attribute__((always_inline)) void
panel_rows(const int rows, const struct product *p, const float *a, const float *b, float *c)
{
	__m256 sums[ROWS][2];

	UNROLL
	for (int i = 0; i < rows; i++)
		sums[i][0] = sums[i][1] = _mm256_setzero_ps();
	for (int64_t k = 0; k < p->depth; k++, a += p->a_depth, b += PRODUCT_PANEL) {
		__m256 low = _mm256_load_ps(b), high = _mm256_load_ps(b + LANES);

		UNROLL
		for (int i = 0; i < rows; i++) {
			__m256 x = _mm256_broadcast_ss(a + i * p->a_row);

			sums[i][0] = _mm256_fmadd_ps(x, low, sums[i][0]);
			sums[i][1] = _mm256_fmadd_ps(x, high, sums[i][1]);
		}
	}
	UNROLL
	for (int i = 0; i < rows; i++, c += PRODUCT_PANEL) {
		if (p->add) {
			sums[i][0] += _mm256_load_ps(c);
			sums[i][1] += _mm256_load_ps(c + LANES);
		}
		_mm256_store_ps(c, sums[i][0]);
		_mm256_store_ps(c + LANES, sums[i][1]);
	}
}

SIMD_FMA void product_run(const struct product *p)
{
	for (int64_t panel = 0; panel < p->panels; panel++) {
		const float *b = p->b + panel * p->b_panel;
		float *c = p->c + panel * p->c_panel;
		int64_t i = 0;

		for (; i + ROWS <= p->rows; i += ROWS)
			panel_rows(ROWS, p, p->a + i * p->a_row, b, c + i * PRODUCT_PANEL);
		for (; i + 2 <= p->rows; i += 2)
			panel_rows(2, p, p->a + i * p->a_row, b, c + i * PRODUCT_PANEL);
		for (; i < p->rows; i++)
			panel_rows(1, p, p->a + i * p->a_row, b, c + i * PRODUCT_PANEL);
	}
}
#endif
