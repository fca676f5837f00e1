/* SPDX-License-Identifier: MIT */
/*
 * The inputs that change from step to step, and the results of a step. All are on the device, so
 * that a recorded step reads new numbers and no one waits for a result before it is needed.
 */
#ifndef KERNELS_CONTROL_H
#define KERNELS_CONTROL_H

#include <stdint.h>

/* Of one pass. */
struct pass_control {
	int64_t epoch; /* for augmentation */
	int32_t rows;  /* the first rows of the batch, which count */
	/* factor of their gradients, besides struct scaler's; for the mean of a global batch: 1 /
	 * (its samples) */
	float scale;
};

/* The results that passes add to. */
struct loss_result {
	double loss; /* the sum over rows, not scaled */
	/* rows whose greatest logit is the label's; of equal ones the first is the greatest */
	int64_t correct;
};

/* Of the optimizer's step. */
struct update_control {
	double lr, momentum; /* struct rates */
	double clip_norm;    /* gradients are clipped to this norm (clip.h); 0: no clipping */
};

enum { GRADIENT_MAX_PARAMETERS = 168 }; /* ResNet-50 has 161 */

/* Measures of the gradients (times scaler_inverse(), if there is a scaler), in the order of the
 * parameters (clip.h). Each stage of a model measures its own parameters; then found_inf and norms,
 * GRADIENT_SUMS successive floats, are summed over the stages. */
struct gradient_measure {
	float norm;                           /* of all parameters */
	float found_inf;                      /* 0: every gradient is finite */
	float norms[GRADIENT_MAX_PARAMETERS]; /* of each parameter; 0 where it is not used */
};

enum { GRADIENT_SUMS = 1 + GRADIENT_MAX_PARAMETERS };

#endif
