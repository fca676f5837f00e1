/* SPDX-License-Identifier: MIT */
/* kernels/gradient_measure.h */
#include <math.h>

#include "tests/trainer/kernels/references.h"

static double sum_chunk(const struct gradient_measure_args *args, const struct chunk *chunk)
{
	const float *g = args->gradients + chunk->first;
	float scale = args->scaler ? scaler_inverse(args->scaler) : 1;
	double sum = 0;

	for (int32_t i = 0; i < chunk->count; i++) {
		float scaled = g[i] * scale;

		sum += (double)scaled * (double)scaled;
	}
	return sum;
}

/* Squares of floats are far below the greatest double, so their sum is infinite only if one of them
 * is. */
void reference_gradient_measure(const struct gradient_measure_args *args)
{
	struct gradient_measure *m = args->measure;
	const struct gradient_norm_args all = {m};

	m->found_inf = 0;
	for (int32_t at = 0; at < GRADIENT_MAX_PARAMETERS; at++) {
		int32_t p = at - args->before;
		double sum = 0;

		if (p >= 0 && p < args->parameters)
			for (int32_t i = args->starts[p]; i < args->starts[p + 1]; i++)
				sum += sum_chunk(args, &args->chunks[i]);
		if (!isfinite(sum))
			m->found_inf = 1;
		m->norms[at] = (float)sqrt(sum);
	}
	reference_gradient_norm(&all);
}

void reference_gradient_norm(const struct gradient_norm_args *args)
{
	const float *norms = args->measure->norms;
	double sum = 0;

	for (int32_t p = 0; p < GRADIENT_MAX_PARAMETERS; p++)
		sum += (double)norms[p] * (double)norms[p];
	args->measure->norm = (float)sqrt(sum);
}
