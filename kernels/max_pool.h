/* SPDX-License-Identifier: MIT */
/*
 * Max-pooling in NHWC by the rules of backend.h: windows of kernel x kernel side by side, without
 * the rest at the end. Of equal values the first counts, and the last NaN before all other values.
 * All rows of a batch are pooled, whether they count or not.
 */
#ifndef KERNELS_MAX_POOL_H
#define KERNELS_MAX_POOL_H

#include "kernels/value.h"
#include "kernels/launch.h"

enum { MAX_POOL_MAX_KERNEL = 16 }; /* because places are bytes */

struct max_pool_args {
	const void *input; /* (batch, height, width, channels) */
	void *output;      /* (batch, height / kernel, width / kernel, channels) */
	uint8_t *places;   /* as output: dy * kernel + dx of the value; NULL: not written */
	int64_t batch;
	int32_t height, width, channels;
	int32_t kernel;       /* 1 to MAX_POOL_MAX_KERNEL, height and width */
	enum value_type type; /* of input and output */
};

/* Whether windows of 2 x 2 leave no rest and all elements have indices of 32 bits: the kernels have
 * a faster form for that. Both forms give the same bits. */
static inline int max_pool_even(int64_t batch, int32_t height, int32_t width, int32_t channels,
				int32_t kernel)
{
	return kernel == 2 && height % 2 == 0 && width % 2 == 0 &&
	       batch * height * width * channels <= INT32_MAX;
}

/*
 * Writes the gradient of the output to the places, and zero elsewhere. With `output`
 * (relu_backward) it writes only gradients whose output is above 0. output_gradient itself stays
 * unchanged. `sums` gets the sums of the written values for each channel: the bias gradient of a
 * convolution before the pooling, without another pass over its largest tensor. Sums are in fp32,
 * in an order that depends on the output's shape (launch_columns()).
 */
struct max_pool_backward_args {
	const void *output_gradient; /* (batch, height / kernel, width / kernel, channels) */
	const void *output;          /* the same; NULL: without relu_backward */
	const uint8_t *places;       /* the same */
	void *input_gradient;        /* (batch, height, width, channels) */
	float *sums;                 /* (channels), any alignment of a float; NULL: not wanted */
	void *scratch;               /* for sums: max_pool_backward_scratch(), see kernels.h */
	int64_t batch;
	int32_t height, width, channels; /* of input_gradient */
	int32_t kernel;                  /* as above */
	enum value_type type;            /* of both gradients and output */
};

static inline size_t max_pool_backward_scratch(const struct max_pool_backward_args *args)
{
	int64_t places = (int64_t)(args->height / args->kernel) * (args->width / args->kernel);

	return launch_columns_scratch(args->batch * places, args->channels, args->type);
}

#endif
