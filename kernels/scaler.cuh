/* SPDX-License-Identifier: MIT */
/* For .cu files: the twin of scaler.c. Intrinsics round each product. */
#ifndef KERNELS_SCALER_CUH
#define KERNELS_SCALER_CUH

#include "kernels/scaler.h"

/* scaler_inverse(); NULL: 1. */
static __device__ inline float inverse_scale(const struct scaler *scaler)
{
	return scaler ? (float)(1 / (double)scaler->scale) : 1;
}

/* scaler_update(). */
static __device__ inline void update_scaler(struct scaler *scaler, bool finite)
{
	struct scaler s = *scaler;
	float greater = __fmul_rn(s.scale, s.growth);

	if (!finite) {
		s.scale = __fmul_rn(s.scale, s.backoff);
		s.good_steps = 0;
	} else if (++s.good_steps >= s.growth_interval) {
		s.scale = isfinite(greater) ? greater : s.scale;
		s.good_steps = 0;
	}
	*scaler = s;
}

#endif
