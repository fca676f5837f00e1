/* SPDX-License-Identifier: MIT */
/*
 * A convolution of data, ReLU and a max-pooling in one kernel, which writes only the pooled values,
 * and in another one the gradients of its weights and bias from those of the pooled values. The
 * output of the convolution, four times as large, is never in memory.
 *
 * The convolution is 3 x 3 with stride 1 and padding 1, of 1 to CONVOLUTION_POOL_MAX_CHANNELS
 * channels; the pooling is 2 x 2, without the rest at the end. Types are bfloat16 and float16.
 * Products are those of values of the type, of which the weights are rounded; sums are float32. All
 * rows of a batch are used, whether they count or not.
 */
#ifndef KERNELS_CONVOLUTION_POOL_H
#define KERNELS_CONVOLUTION_POOL_H

#include <stdbool.h>

#include "kernels/value.h"
#include "kernels/launch.h"

enum {
	/* the channels of a pixel in memory, with padding: 16 bytes */
	CONVOLUTION_POOL_PIXEL = 8,
	/* their weights and the bias are at most 32 numbers, two steps of mma.cuh */
	CONVOLUTION_POOL_MAX_CHANNELS = 3,
	CONVOLUTION_POOL_MAX_OUT = 1024,
	CONVOLUTION_POOL_OUT = 64,    /* channels of the output that a block has */
	CONVOLUTION_POOL_TILE = 8192, /* values of the input that it has at a time */
	/* two blocks of each of an H200's 132 multiprocessors */
	CONVOLUTION_POOL_MAX_BLOCKS = 2 * 132,
	CONVOLUTION_POOL_SUMMED = 16, /* blocks whose sums one block adds */
};

struct convolution_pool_args {
	const void *input;   /* (batch, height, width, CONVOLUTION_POOL_PIXEL) */
	const float *weight; /* (out, 3, 3, channels), any alignment of a float */
	const float *bias;   /* (out), the same */
	/* (batch, height / 2, width / 2, out with padding to a multiple of 8): zero or the greatest
	 * sum of a window; NaN if one of its sums is NaN. The padding has weights of zero. */
	void *output;
	/* (batch, height / 2, width / 2, that / 8): of each 8 channels, the first of which has the
	 * lowest two bits, the place 2 * dy + dx of the value. Sums are compared before they are
	 * rounded to the type; of equal ones the first counts. 0 where the output is 0, and of no
	 * meaning where it is NaN. */
	uint16_t *places;
	int64_t batch;
	int32_t height, width; /* of input, 2 or more */
	int32_t channels, out;
	enum value_type type; /* of input and output */
};

/* Gradients of outputs that are not above 0 count as zero (relu_backward of backend.h). They are
 * multiplied by all inputs of the window, so inputs must be finite. */
struct convolution_pool_backward_args {
	const void *input;           /* as above */
	const void *output_gradient; /* as output */
	const void *output;          /* as above, its places too */
	const uint16_t *places;
	float *weight_gradient; /* as weight */
	float *bias_gradient;   /* as bias */
	void *scratch;          /* convolution_pool_backward_scratch(), see kernels.h */
	int64_t batch;
	int32_t height, width, channels, out;
	enum value_type type;
};

/* The channels of the output with padding. */
static inline int32_t convolution_pool_padded(int32_t out)
{
	return (out + 7) / 8 * 8;
}

/*
 * A piece is some `rows` rows of windows of an image, which has `of_image` pieces. Block (x, y) of
 * blocks_x times blocks_y has the channels from y * CONVOLUTION_POOL_OUT on, and of the pieces
 * number x and every blocks_x-th after it.
 *
 * Gradients are the sums of all blocks. Of each CONVOLUTION_POOL_SUMMED blocks with the same
 * channels the last one adds theirs, and the last of all these blocks adds what they have.
 */
struct convolution_pool_launch {
	int32_t rows, of_image;
	int32_t padded; /* channels of the output */
	int64_t pieces;
	unsigned blocks_x, blocks_y;
	unsigned summed; /* times CONVOLUTION_POOL_SUMMED blocks, or fewer, are blocks_x */
};

/* The values of a piece's input, with those around it. */
static inline int64_t convolution_pool_tile(int32_t rows, int32_t width, int32_t channels)
{
	return (int64_t)(2 * rows + 2) * (width + 2) * channels;
}

/* Pieces are as large as fits, but not so large that blocks or warps have none. */
static inline struct convolution_pool_launch
convolution_pool_launch(int64_t batch, int32_t height, int32_t width, int32_t channels, int32_t out)
{
	const int32_t at_once = LAUNCH_THREADS / 32 * 8; /* windows of a block */
	struct convolution_pool_launch l;
	int64_t max;

	l.rows = height / 2;
	while (l.rows > 1 &&
	       (convolution_pool_tile(l.rows, width, channels) > CONVOLUTION_POOL_TILE ||
		(batch * launch_divide_up(height / 2, l.rows) < CONVOLUTION_POOL_MAX_BLOCKS &&
		 l.rows * (width / 2) > at_once)))
		l.rows = (l.rows + 1) / 2;
	l.of_image = (int32_t)launch_divide_up(height / 2, l.rows);
	l.pieces = batch > 0 ? batch * l.of_image : 0;
	l.blocks_y = (unsigned)launch_divide_up(out, CONVOLUTION_POOL_OUT);
	max = CONVOLUTION_POOL_MAX_BLOCKS / l.blocks_y;
	l.blocks_x = (unsigned)launch_min(l.pieces > 0 ? l.pieces : 1, max);
	l.summed = (unsigned)launch_divide_up(l.blocks_x, CONVOLUTION_POOL_SUMMED);
	l.padded = convolution_pool_padded(out);
	return l;
}

/* Whether the kernels can compute this. */
static inline bool convolution_pool_has(int32_t height, int32_t width, int32_t channels,
					int32_t out, enum value_type type)
{
	return (type == VALUE_BFLOAT16 || type == VALUE_FLOAT16) && height >= 2 && width >= 2 &&
	       channels >= 1 && channels <= CONVOLUTION_POOL_MAX_CHANNELS && out >= 1 &&
	       out <= CONVOLUTION_POOL_MAX_OUT &&
	       convolution_pool_tile(1, width, channels) <= CONVOLUTION_POOL_TILE;
}

/* The floats of a list of sums, which has 32 rows. */
enum { CONVOLUTION_POOL_SUMS = 32 * CONVOLUTION_POOL_OUT };

/* A list for each block and each CONVOLUTION_POOL_SUMMED blocks. The tickets are one for all, and
 * one for each such number of blocks. */
static inline size_t
convolution_pool_backward_scratch(const struct convolution_pool_backward_args *args)
{
	struct convolution_pool_launch l = convolution_pool_launch(
		args->batch, args->height, args->width, args->channels, args->out);
	size_t lists = (size_t)l.blocks_y * (l.blocks_x + l.summed);

	return KERNEL_TICKET_BYTES + lists * CONVOLUTION_POOL_SUMS * sizeof(float);
}

#endif
