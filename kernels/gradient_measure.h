/* SPDX-License-Identifier: MIT */
/*
 * Measures gradients (control.h), where g = gradient * scaler_inverse(), rounded to a float, or
 * without a scaler g = gradient:
 *
 * 	norms[p] = sqrt(sum of g^2), norm = sqrt(sum of norms[p]^2), both from sums in double
 * 	found_inf: 1 if a g is infinite or NaN, else 0
 *
 * So a norm is infinite only if a gradient is, or if it does not fit into a float. Writes all of
 * measure->norms: zeros for the model's other parameters.
 */
#ifndef KERNELS_GRADIENT_MEASURE_H
#define KERNELS_GRADIENT_MEASURE_H

#include "kernels/control.h"
#include "kernels/flat_chunk.h"
#include "kernels/launch.h"
#include "kernels/scaler.h"

struct gradient_measure_args {
	const float *gradients;     /* flat */
	const struct chunk *chunks; /* (chunk_count), in the order of the parameters, all with
				     * their gradients in the flat buffer */
	/* (parameters + 1): the chunks of parameter p are starts[p] .. starts[p + 1] - 1. A
	 * parameter without chunks is not used; its norm is 0. */
	const int32_t *starts;
	const struct scaler *scaler; /* NULL: none */
	struct gradient_measure *measure;
	void *scratch; /* gradient_measure_scratch() bytes, see kernels.h */
	int32_t chunk_count;
	int32_t parameters;
	int32_t before; /* parameters of the model that come before: norms[before] is the first's.
			 * With them at most GRADIENT_MAX_PARAMETERS */
};

static inline size_t gradient_measure_scratch(int32_t chunk_count)
{
	return KERNEL_TICKET_BYTES + (size_t)chunk_count * sizeof(double);
}

/* By one thread: computes norm from all norms. */
struct gradient_norm_args {
	struct gradient_measure *measure;
};

#endif
