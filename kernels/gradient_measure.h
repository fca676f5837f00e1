/* SPDX-License-Identifier: MIT */
/*
 * What is measured of gradients (control.h), where g = gradient * scaler_inverse(), rounded to a
 * float, or without a scaler g = gradient:
 *
 *	norms[p] = sqrt(sum of g^2), norm = sqrt(sum of norms[p]^2), both from sums in double
 *	finite: no g is infinite or NaN
 *
 * So a norm is infinite only where a gradient is, or where it is no float. All of measure->norms
 * is written: zeros past the last parameter.
 */
#ifndef KERNELS_GRADIENT_MEASURE_H
#define KERNELS_GRADIENT_MEASURE_H

#include "backend/control.h"
#include "kernels/chunk.h"
#include "kernels/launch.h"
#include "optim/scaler.h"

struct gradient_measure_args {
	const float *gradients;     /* flat */
	const struct chunk *chunks; /* (chunk_count), in the order of the parameters */
	/* (parameters + 1): the chunks of parameter p are starts[p] .. starts[p + 1] - 1; none: it
	 * is not used, and its norm is 0. */
	const int32_t *starts;
	const struct scaler *scaler; /* NULL: none */
	struct gradient_measure *measure;
	void *scratch; /* gradient_measure_scratch() bytes, as kernels.h says */
	int32_t chunk_count;
	int32_t parameters; /* at most GRADIENT_MOST_PARAMETERS */
};

static inline size_t gradient_measure_scratch(int32_t chunk_count)
{
	return KERNEL_TICKET_BYTES + (size_t)chunk_count * sizeof(double);
}

#endif
