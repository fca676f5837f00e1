/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "kernels/references.h"

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

/* Squares of floats are far below the greatest double, so their sum tells what is infinite. */
void reference_gradient_measure(const struct gradient_measure_args *args)
{
	struct gradient_measure *m = args->measure;
	double all = 0;

	m->finite = 1;
	for (int32_t p = 0; p < GRADIENT_MOST_PARAMETERS; p++) {
		double sum = 0;

		if (p < args->parameters)
			for (int32_t i = args->starts[p]; i < args->starts[p + 1]; i++)
				sum += sum_chunk(args, &args->chunks[i]);
		if (!isfinite(sum))
			m->finite = 0;
		m->norms[p] = (float)sqrt(sum);
		all += (double)m->norms[p] * (double)m->norms[p];
	}
	m->norm = (float)sqrt(all);
}
