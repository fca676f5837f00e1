/* SPDX-License-Identifier: MIT */
/* See update.h. */
#include "update.h"

#include <math.h>
#include <stddef.h>

#include "base/simd.h"
#include "kernels/bf16.h"

enum { BLOCK = 1024 }; /* elements at a time, so that the loops count in int */

/* A product with a factor of 1 is exact, so a scaler of 1 changes nothing. */
SIMD_BODY float gradient(float g, float w, const struct update *u)
{
	float scaled = g * u->inv_scale * u->clip;

	return u->decay == 0 ? scaled : fmaf(w, u->decay, scaled);
}

SIMD_BODY void sgd(float *restrict w, const float *restrict g, int n, const struct update *u)
{
#pragma omp simd
	for (int i = 0; i < n; i++)
		w[i] = fmaf(gradient(g[i], w[i], u), u->minus_lr, w[i]);
}

SIMD_BODY void momentum(float *restrict w, const float *restrict g, float *restrict m, int n,
			const struct update *u)
{
#pragma omp simd
	for (int i = 0; i < n; i++) {
		m[i] = m[i] * u->momentum + gradient(g[i], w[i], u);
		w[i] = fmaf(m[i], u->minus_lr, w[i]);
	}
}

SIMD_BODY void nesterov(float *restrict w, const float *restrict g, float *restrict m, int n,
			const struct update *u)
{
#pragma omp simd
	for (int i = 0; i < n; i++) {
		float gi = gradient(g[i], w[i], u);

		m[i] = m[i] * u->momentum + gi;
		w[i] = fmaf(fmaf(m[i], u->momentum, gi), u->minus_lr, w[i]);
	}
}

SIMD_BODY void adam(float *restrict w, const float *restrict g, float *restrict m,
		    float *restrict v, int n, const struct update *u)
{
#pragma omp simd
	for (int i = 0; i < n; i++) {
		float gi = gradient(g[i], w[i], u);

		m[i] = fmaf(gi, u->gain, m[i] * u->momentum);
		v[i] = fmaf(u->gain2 * gi, gi, v[i] * u->beta2);
		w[i] = w[i] * u->keep + u->minus_step * m[i] / (sqrtf(v[i]) / u->root + u->eps);
	}
}

SIMD_BODY void round_weights(uint16_t *restrict copy, const float *restrict w, int n)
{
#pragma omp simd
	for (int i = 0; i < n; i++)
		copy[i] = bf16_from_float(w[i]);
}

SIMD_BODY void run_body(void *update, int64_t begin, int64_t end)
{
	/* A local copy, so that no store can change a factor. */
	const struct update u = *(const struct update *)update;

	for (int64_t at = begin; at < end; at += BLOCK) {
		int n = end - at < BLOCK ? (int)(end - at) : BLOCK;
		float *w = u.weight + at;
		const float *g = u.gradient + at;

		switch (u.rule) {
		case RULE_SGD:
			if (!u.mean)
				sgd(w, g, n, &u);
			else if (u.nesterov)
				nesterov(w, g, u.mean + at, n, &u);
			else
				momentum(w, g, u.mean + at, n, &u);
			break;
		case RULE_ADAM:
			adam(w, g, u.mean + at, u.variance + at, n, &u);
			break;
		}
		if (u.copy)
			round_weights(u.copy + at, w, n);
	}
}

SIMD_EACH(run, run_body)

void update_run(const struct update *update, int64_t begin, int64_t end)
{
	run[simd_loops()]((void *)(uintptr_t)update, begin, end);
}
