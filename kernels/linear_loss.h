/* SPDX-License-Identifier: MIT */
/*
 * The last layer of a training pass with its loss: a linear layer without ReLU, softmax
 * cross-entropy (cross_entropy.h), and the gradients of the layer.
 *
 *	logits[n][c] = bias[c] + sum over f of input[n][f] weight[c][f]
 *	gradient = the loss's, of logits
 *	weight_gradient[c][f] = sum over n of gradient[n][c] input[n][f]
 *	bias_gradient[c] = sum over n of gradient[n][c]
 *	input_gradient[n][f] = sum over c of gradient[n][c] weight[c][f], with `relu` 0 unless
 *		input[n][f] is above 0 (a NaN is not)
 *	input_sums[f] = sum over n of input_gradient[n][f] before it is rounded
 *
 * Logits and their gradient are rounded to the type, as if a layer and a loss wrote them. Sums are
 * in fp32, in an order that depends on the shape (linear_loss_launch()).
 */
#ifndef KERNELS_LINEAR_LOSS_H
#define KERNELS_LINEAR_LOSS_H

#include <stdbool.h>

#include "kernels/control.h"
#include "kernels/launch.h"
#include "kernels/scaler.h"
#include "kernels/value.h"

enum {
	LINEAR_LOSS_MAX_CLASSES = 64,
	LINEAR_LOSS_FEW_CLASSES = 16,
	LINEAR_LOSS_FEATURES = 32, /* of a block */
	/* that a block takes at a time, with few classes and with more */
	LINEAR_LOSS_ROWS = 64,
	LINEAR_LOSS_FEWER_ROWS = 32,
	LINEAR_LOSS_WARP_ROWS = 4, /* whose logits a warp computes at a time */
};

struct linear_loss_args {
	const void *input;                  /* (batch, features) */
	const void *weight;                 /* (classes, features), any alignment of a value */
	const void *bias;                   /* (classes), any alignment of a value */
	const int32_t *labels;              /* (batch) */
	const struct pass_control *control; /* rows and scale */
	const struct scaler *scaler;        /* NULL: none */
	struct loss_result *result;         /* added to, or with `overwrite` written */
	void *gradient;                     /* (batch, classes), of logits */
	float *weight_gradient;             /* (classes, features), any alignment of a float */
	float *bias_gradient;               /* (classes), any alignment of a float */
	void *input_gradient;               /* (batch, features); NULL: not wanted */
	/* (features), any alignment of a float; NULL: not wanted. Needs input_gradient. */
	float *input_sums;
	void *scratch;           /* linear_loss_scratch() bytes, see kernels.h */
	int64_t batch, features; /* features >= 1 */
	int32_t classes;         /* 1 to LINEAR_LOSS_MAX_CLASSES */
	bool relu, overwrite;
	/* of input, weight, bias, gradient and input_gradient */
	enum value_type type;
};

/*
 * With row_blocks, a first launch computes the gradients of logits, a warp those of
 * LINEAR_LOSS_WARP_ROWS rows at a time, and a second one the rest. Without it there is only the
 * second one: each of its blocks computes all logits for itself, which takes less time than a
 * launch if they are few.
 *
 * Block (x, y) of blocks_x times blocks_y has LINEAR_LOSS_FEATURES features, and `rows` rows at a
 * time: those from y * rows on, and every (blocks_y * rows)-th after them. A warp of it sums every
 * eighth row, the block the sums of its warps, and the last block of an x those of all y.
 */
struct linear_loss_launch {
	unsigned row_blocks, blocks_x, blocks_y;
	int rows, classes; /* classes: LINEAR_LOSS_FEW_CLASSES or _MAX_CLASSES, with padding */
	int lanes;         /* that share a row of logits: launch_row_lanes() */
	/* The floats that a block y leaves for the last block: sums of weight_gradient, of
	 * input_gradient and of bias_gradient. */
	int64_t partial;
};

static inline struct linear_loss_launch linear_loss_launch(int64_t batch, int64_t features,
							   int32_t classes)
{
	/* Products of one block's logits, which it computes in 2 to 3 microseconds. */
	const int64_t max_alone = 1 << 19;
	struct linear_loss_launch l = {
		.row_blocks = 0,
		.blocks_x = (unsigned)launch_divide_up(features, LINEAR_LOSS_FEATURES),
		.blocks_y = 1,
		.rows = LINEAR_LOSS_ROWS,
		.classes = LINEAR_LOSS_FEW_CLASSES,
		.lanes = launch_row_lanes(classes),
		.partial = (classes + 1) * features + classes,
	};

	if (classes > LINEAR_LOSS_FEW_CLASSES) {
		l.rows = LINEAR_LOSS_FEWER_ROWS;
		l.classes = LINEAR_LOSS_MAX_CLASSES;
	}
	if (batch > l.rows || batch * features > max_alone / classes)
		l.row_blocks = (unsigned)launch_min(
			launch_divide_up(batch, LAUNCH_THREADS / 32 * LINEAR_LOSS_WARP_ROWS),
			LAUNCH_MAX_BLOCKS);
	l.blocks_y = (unsigned)launch_min(launch_divide_up(batch > 0 ? batch : 1, l.rows),
					  launch_divide_up(LAUNCH_MAX_SUMMED, l.blocks_x));
	return l;
}

/* The ticket; the losses of row blocks; a ticket for each block x, which the first launch clears;
 * what each block y leaves. */
static inline size_t linear_loss_scratch(int64_t batch, int64_t features, int32_t classes)
{
	struct linear_loss_launch l = linear_loss_launch(batch, features, classes);
	size_t bytes = KERNEL_TICKET_BYTES + l.row_blocks * sizeof(struct loss_result);

	if (l.blocks_y > 1)
		bytes += l.blocks_x * sizeof(unsigned) +
			 l.blocks_y * (size_t)l.partial * sizeof(float);
	return bytes;
}

#endif
