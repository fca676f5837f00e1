/* SPDX-License-Identifier: MIT */
/* See scaler.h. */
#include "kernels/scaler.h"

#include <math.h>

#include "kernels/bf16.h"

struct scaler scaler_default(void)
{
	return (struct scaler){
		.scale = 65536, .growth = 2, .backoff = 0.5f, .growth_interval = 2000};
}

struct scaler scaler_constant(float scale)
{
	struct scaler scaler = scaler_default();

	scaler.scale = scale;
	scaler.growth = scaler.backoff = 1;
	return scaler;
}

float scaler_inverse(const struct scaler *scaler)
{
	return (float)(1 / (double)scaler->scale);
}

bool scaler_finite(const float *values, int64_t n, float scale)
{
	uint32_t infinite = 0;

#pragma omp simd reduction(| : infinite)
	for (int64_t i = 0; i < n; i++)
		infinite |= (float_bits(values[i] * scale) & 0x7f800000) == 0x7f800000;
	return !infinite;
}

bool scaler_update(struct scaler *scaler, bool finite)
{
	float greater = scaler->scale * scaler->growth;

	if (!finite) {
		scaler->scale *= scaler->backoff;
		scaler->good_steps = 0;
	} else if (++scaler->good_steps >= scaler->growth_interval) {
		if (isfinite(greater))
			scaler->scale = greater;
		scaler->good_steps = 0;
	}
	return finite;
}
