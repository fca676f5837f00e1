/* SPDX-License-Identifier: MIT */
/*
 * Loss scaling for fp16, as torch.cuda.amp.GradScaler does it: the loss is multiplied by `scale`
 * so that small gradients do not vanish; a step whose gradients overflow is skipped and the scale
 * halved; after 2000 good steps in a row it is doubled. bf16 needs none of this.
 *
 * One step: backward with the loss times scale; all-reduce, so that an overflow reaches
 * every rank; scaler_finite() over all gradients; unless one failed, step with
 * scaler_inverse(); scaler_update().
 *
 * scaler.c is for the CPU. Its twin for kernels is scaler.cuh.
 */
#ifndef KERNELS_SCALER_H
#define KERNELS_SCALER_H

#include <stdbool.h>
#include <stdint.h>

/* It may lie on a device (backend.h). A checkpoint has scale and good_steps; the rest are settings.
 */
struct scaler {
	float scale;             /* 65536 */
	float growth, backoff;   /* 2 and 0.5 */
	int32_t growth_interval; /* 2000 */
	int32_t good_steps;      /* since the last skip or growth; PyTorch's _growth_tracker */
};

/* PyTorch's defaults. */
struct scaler scaler_default(void);
/* It never changes. */
struct scaler scaler_constant(float scale);

/* The factor for gradients: 1 / scale, computed in double. */
float scaler_inverse(const struct scaler *scaler);

/* Whether n values, times `scale`, are finite. */
bool scaler_finite(const float *values, int64_t n, float scale);

/* Call it after each step; `finite`: all gradients were finite, and the step was made. Returns
 * finite. A growth that would make the scale infinite is not made. The scale can fall to 0;
 * scaler_inverse() is then infinite, and every step is skipped. */
bool scaler_update(struct scaler *scaler, bool finite);

#endif
