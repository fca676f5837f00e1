/* SPDX-License-Identifier: MIT */
/*
 * A step of the optimizer: the arithmetic of optim/update.h, operation by operation, so that the
 * bits are those of the CPU. update_begin makes the factors of a step, update takes it.
 */
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/control.h"
#include "kernels/flat_chunk.h"
#include "kernels/scaler.h"

/* What is the same in each step. */
struct update_settings {
	double beta2, eps, weight_decay;
	int32_t adam;      /* not 0: Adam's factors are made */
	int32_t decoupled; /* not 0: decay goes into `keep`, not into the gradient */
};

/* The factor for gradients that limits their norm to `max`: max / (norm + 1e-6), but at most 1.
 * The norm of all gradients is clip_norm() of the norms of each parameter's, in the order of the
 * parameters. 0 for an infinite norm, NaN for a NaN. */
static inline float clip_coefficient(float norm, double max)
{
	float coefficient = (float)max * (1 / (norm + 1e-6f));

	/* Written so that a NaN remains a NaN. */
	return coefficient > 1 ? 1 : coefficient;
}

/* The members of struct update (optim/update.h) without pointers, on the device. */
struct update_factors {
	float inv_scale, clip;
	float decay, keep;
	float minus_lr, momentum;
	float gain, beta2, gain2;
	float minus_step, root, eps;
	int32_t skip; /* not 0: no step is made */
};

/*
 * By one thread: computes the factors from control and measure, each in double and rounded once, as
 * optimizer_begin() does. clip is clip_coefficient() of measure->norm if control->clip_norm is
 * above 0, else 1. With a scaler inv_scale is its scaler_inverse(), else 1; the step is skipped if
 * measure->found_inf, and scaler_update() follows in both cases. A step that is not skipped is
 * counted first.
 */
struct update_begin_args {
	struct update_settings settings;
	const struct update_control *control;
	const struct gradient_measure *measure; /* NULL: no clipping, and no scaler */
	int64_t *steps;                         /* the number of steps made */
	struct update_factors *factors;         /* written completely */
	struct scaler *scaler;                  /* NULL: none */
};

/*
 * Updates each element of each chunk. Pointers decide what is computed: with variance Adam, else
 * with mean SGD with momentum, else SGD. A chunk's gradient is read where it lies, as float, and
 * its copy gets its new values, rounded. With factors->skip nothing is changed.
 */
struct update_args {
	float *values;              /* flat */
	const float *gradients;     /* flat; not read for chunks with a gradient */
	float *mean, *variance;     /* flat */
	const struct chunk *chunks; /* (chunk_count), from any chunk of a table on */
	const struct update_factors *factors;
	int32_t chunk_count;
	int32_t nesterov; /* SGD with momentum */
	int32_t beside;   /* not 0: leaves room for kernels of other streams */
};

#endif
