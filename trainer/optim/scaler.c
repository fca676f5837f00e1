/* SPDX-License-Identifier: MIT */
#include "scaler.h"

#include <math.h>

#include "bf16.h"

struct scaler scaler_default(void)
{
	return (struct scaler){
		.scale = 65536, .growth = 2, .backoff = 0.5f, .growth_interval = 2000};
}

bool scaler_check(const struct scaler *scaler, struct train_error *error)
{
	const char *why = NULL;

	if (!(scaler->scale > 0 && isfinite(scaler->scale)))
		why = "the scale must be above 0 and finite";
	else if (!(scaler->growth > 1 && isfinite(scaler->growth)))
		why = "the growth factor must be above 1";
	else if (!(scaler->backoff > 0 && scaler->backoff < 1))
		why = "the backoff factor must be between 0 and 1";
	else if (scaler->growth_interval < 1)
		why = "the growth interval must be at least 1 step";
	else if (scaler->good_steps < 0 || scaler->skipped < 0)
		why = "counts of steps must not be negative";
	return !why || train_fail(error, TRAIN_BAD_INPUT, "loss scaling: %s", why);
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
		scaler->skipped++;
	} else if (++scaler->good_steps >= scaler->growth_interval) {
		if (isfinite(greater))
			scaler->scale = greater;
		scaler->good_steps = 0;
	}
	return finite;
}
