/* SPDX-License-Identifier: MIT */
/*
 * Max-pooling in NHWC by the rules of backend.h, with windows that lie `stride` apart and begin
 * `pad` outside: they may overlap. Of equal values the first counts, and the last NaN before all
 * other values. All rows of a batch are pooled, whether they count or not.
 */
#ifndef KERNELS_MAX_POOL_H
#define KERNELS_MAX_POOL_H

#include "kernels/launch.h"
#include "kernels/value.h"

enum { MAX_POOL_MAX_KERNEL = 16 }; /* because places are bytes */

struct max_pool_shape {
	int64_t batch;
	int32_t height, width, channels; /* of the input */
	int32_t out_height, out_width;
	int32_t kernel;      /* 1 to MAX_POOL_MAX_KERNEL, height and width */
	int32_t stride, pad; /* pad <= kernel / 2 */
	enum value_type type;
};

struct max_pool_args {
	struct max_pool_shape shape;
	const void *input; /* (batch, height, width, channels) */
	void *output;      /* (batch, out_height, out_width, channels) */
	uint8_t *places;   /* as output: dy * kernel + dx of the value; NULL: not written */
};

/*
 * Each input gets the sum of the gradients of the outputs that it is, in the order of the outputs.
 * With `output` (relu_backward) only those count whose output is above 0. output_gradient itself
 * stays unchanged. `sums` gets the sums of the written values for each channel, in an order that
 * depends on the input's shape (launch_columns()). Sums are in fp32.
 */
struct max_pool_backward_args {
	struct max_pool_shape shape;
	const void *output_gradient; /* (batch, out_height, out_width, channels) */
	const void *output;          /* the same; NULL: without relu_backward */
	const uint8_t *places;       /* the same */
	void *input_gradient;        /* (batch, height, width, channels) */
	float *sums;                 /* (channels), any alignment of a float; NULL: not wanted */
	void *scratch;               /* for sums: max_pool_scratch(), see kernels.h */
};

static inline int64_t max_pool_inputs(const struct max_pool_shape *shape)
{
	return shape->batch * shape->height * shape->width;
}

static inline size_t max_pool_scratch(const struct max_pool_shape *shape)
{
	return launch_columns_scratch(max_pool_inputs(shape), shape->channels, shape->type);
}

#endif
