/* SPDX-License-Identifier: MIT */
/*
 * Batch normalization over the rows of (rows, columns): columns are channels with padding, rows the
 * places of a batch in NHWC, `places` of them for each sample (backend.h has the definition).
 * Forward is batch_norm_statistics, then batch_norm_normalize; backward is batch_norm_sums, then
 * batch_norm_backward. Only the rows of the first control->rows samples count.
 *
 * Sums are in fp32, in an order that depends on the shape (launch_columns()). Those of values are
 * of their differences from the first row, so that a mean that is far from zero costs no precision.
 * A first row that is far from the mean does: a variance is wrong by about 2^-22 times the square
 * of that distance.
 */
#ifndef KERNELS_BATCH_NORM_H
#define KERNELS_BATCH_NORM_H

#include <stdbool.h>

#include "kernels/control.h"
#include "kernels/launch.h"
#include "kernels/value.h"

/* The arrays of `saved`, each of `columns` floats, zero in the padding: batch_norm_statistics
 * writes the first five, batch_norm_sums the others. MEAN_REST is what the mean loses when it is
 * rounded; SHIFT and MEAN_GRADIENT make up for it. With x = input - MEAN the output is x * SCALE
 * + SHIFT, and the gradient of the input is (g - MEAN_GRADIENT - x * SLOPE) * SCALE. */
enum batch_norm_saved {
	BATCH_NORM_MEAN,
	BATCH_NORM_MEAN_REST,
	BATCH_NORM_INVERSE_STD,
	BATCH_NORM_SCALE,
	BATCH_NORM_SHIFT,
	BATCH_NORM_MEAN_GRADIENT,
	BATCH_NORM_SLOPE,
	BATCH_NORM_SAVED
};

struct batch_norm_shape {
	int64_t rows, columns; /* rows: batch * places */
	int64_t channels;      /* columns without padding */
	int64_t places;
	enum value_type type; /* of input, output and their gradients */
};

struct batch_norm_statistics_args {
	struct batch_norm_shape shape;
	const void *input;                  /* (rows, columns) */
	const struct pass_control *control; /* read if training */
	/* (channels), any alignment of a float; running ones are moved if training, else used */
	const float *weight, *bias;
	float *running_mean, *running_var;
	float *saved;  /* (BATCH_NORM_SAVED, columns) */
	void *scratch; /* batch_norm_scratch() bytes, see kernels.h */
	double eps, momentum;
	bool training;
};

struct batch_norm_normalize_args {
	struct batch_norm_shape shape;
	const void *input;
	const float *saved;
	void *output; /* may be the input */
	bool relu;
};

/* relu_backward: gradients whose output is not above zero count as zero. The output is computed
 * again, which is cheaper than reading it. */
struct batch_norm_sums_args {
	struct batch_norm_shape shape;
	const void *input, *output_gradient;
	const struct pass_control *control;
	float *weight_gradient, *bias_gradient; /* (channels), any alignment of a float */
	float *saved;
	void *scratch;
	bool relu_backward;
};

struct batch_norm_backward_args {
	struct batch_norm_shape shape;
	const void *input, *output_gradient;
	const struct pass_control *control;
	const float *saved;
	void *input_gradient; /* may be the output's gradient; zero in rows that do not count */
	bool relu_backward;
};

/* Of the sums: four columns to a thread, whatever the type, because with eight there are too few
 * registers for the blocks. */
static inline struct launch_columns batch_norm_columns(const struct batch_norm_shape *shape)
{
	return launch_columns(shape->rows, shape->columns, VALUE_FLOAT32);
}

/* Two partial sums for each column and block, and the two sums. */
static inline size_t batch_norm_scratch(const struct batch_norm_shape *shape)
{
	return KERNEL_TICKET_BYTES + (batch_norm_columns(shape).blocks_y + (size_t)1) * 2 *
					     (size_t)shape->columns * sizeof(float);
}

/* The rows that count. */
static inline int64_t batch_norm_rows(const struct batch_norm_shape *shape, int32_t samples)
{
	return launch_min(samples * shape->places, shape->rows);
}

#endif
