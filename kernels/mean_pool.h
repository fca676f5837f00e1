/* SPDX-License-Identifier: MIT */
/*
 * Global average pooling: the mean of each channel of a sample, from NHWC with padding to host
 * order. Sums are in fp32, in an order that depends on the shape (launch_samples()).
 */
#ifndef KERNELS_MEAN_POOL_H
#define KERNELS_MEAN_POOL_H

#include "kernels/launch.h"
#include "kernels/value.h"

struct mean_pool_args {
	const void *input; /* (batch, places, padded) */
	void *output;      /* (batch, channels) */
	int64_t batch, places;
	int32_t channels, padded;
	enum value_type type; /* of both */
};

/* Each place gets a share of the gradient of its mean. */
struct mean_pool_backward_args {
	const void *output_gradient; /* (batch, channels) */
	void *input_gradient;        /* (batch, places, padded): zero in the padding */
	int64_t batch, places;
	int32_t channels, padded;
	enum value_type type; /* of both */
};

#endif
