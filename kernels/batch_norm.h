/* SPDX-License-Identifier: MIT */
/*
 * Batch normalization over the rows of (rows, columns): columns are channels with padding, rows the
 * places of a batch in NHWC, `places` of them for each sample (backend.h has the definition).
 * Forward is batch_norm_statistics, then batch_norm_normalize; backward is batch_norm_sums, then
 * batch_norm_backward. Only the rows of the first control->rows samples count.
 *
 * If ranks normalize their rows as one (torch.nn.SyncBatchNorm), batch_norm_statistics and
 * batch_norm_sums write the `values` that a rank gives to the others, and
 * batch_norm_join_statistics and batch_norm_join_sums compute what follows from the values of all
 * ranks. These are doubles, and all ranks add them in the order of ranks, so that all have the same
 * bits, also on unlike GPUs.
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
 * or batch_norm_join_statistics writes the first five, batch_norm_sums or batch_norm_join_sums the
 * others. MEAN_REST is what the mean loses when it is rounded; SHIFT and MEAN_GRADIENT make up for
 * it. With x = input - MEAN the output is x * SCALE + SHIFT, and the gradient of the input is
 * (g - MEAN_GRADIENT - x * SLOPE) * SCALE. */
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
	/* NULL, or (batch_norm_rank_values()), any alignment of a double; only if training. The
	 * number of rows, then the mean of each channel, then its biased variance; all are zero
	 * without rows. Of weight, bias, running moments and `saved` nothing is read or written
	 * then. */
	double *values;
};

/* The moments of all rows by those of each rank's n_r rows (Chan, Golub and LeVeque, 1983):
 * n = sum of n_r, mean = sum of n_r * mean_r / n, variance = sum of n_r * (variance_r +
 * (mean_r - mean)^2) / n. A rank may have no rows. Of the shape it reads columns and channels. */
struct batch_norm_join_statistics_args {
	struct batch_norm_shape shape;
	const double *all; /* (ranks, batch_norm_rank_values()), any alignment of a double */
	int32_t ranks;
	/* as batch_norm_statistics_args, if training */
	const float *weight, *bias;
	float *running_mean, *running_var;
	float *saved;
	double eps, momentum;
};

struct batch_norm_normalize_args {
	struct batch_norm_shape shape;
	const void *input;
	const struct pass_control *control; /* rows that do not count give zero; NULL: all count */
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
	/* (channels), any alignment of a float, of the rows here */
	float *weight_gradient, *bias_gradient;
	float *saved; /* with `values` it is only read */
	void *scratch;
	bool relu_backward;
	/* NULL, or (batch_norm_rank_values()): the number of rows, then the sum of the gradients of
	 * each channel, then that of their products with (input - the mean) */
	double *values;
};

/* Of the shape it reads columns and channels. */
struct batch_norm_join_sums_args {
	struct batch_norm_shape shape;
	const double *all; /* (ranks, batch_norm_rank_values()) */
	int32_t ranks;
	float *saved;
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

/* The values that a rank gives to the others. */
static inline int64_t batch_norm_rank_values(const struct batch_norm_shape *shape)
{
	return 1 + 2 * shape->channels;
}

/* The rows that count. */
static inline int64_t batch_norm_rows(const struct batch_norm_shape *shape, int32_t samples)
{
	return launch_min(samples * shape->places, shape->rows);
}

#endif
