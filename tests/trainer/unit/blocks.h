/* SPDX-License-Identifier: MIT */
/* Cases of the layers of ResNets, alone and in blocks. */
#ifndef TRAIN_TESTS_BLOCKS_H
#define TRAIN_TESTS_BLOCKS_H

#include "ops.h"

#define PLAIN(NAME, FROM, OUT, KERNEL, STRIDE) \
	{ \
		.name = (NAME), .kind = LAYER_CONVOLUTION, .from = {FROM}, .out = (OUT), \
		.kernel = (KERNEL), .pad = (KERNEL) / 2, .stride = (STRIDE), .no_bias = true \
	}
#define NORM(NAME, RELU) \
	{ \
		.name = (NAME), .kind = LAYER_BATCH_NORM, .relu = (RELU) \
	}
#define POOL(KERNEL, STRIDE, PAD) \
	{ \
		.name = "pool", .kind = LAYER_MAX_POOL, .kernel = (KERNEL), .stride = (STRIDE), \
		.pad = (PAD) \
	}
#define MEAN \
	{ \
		.name = "mean", .kind = LAYER_MEAN_POOL \
	}

static const struct stage_case blocks[] = {
	{"a stride", 2, 3, 8, 7, {PLAIN("a", NULL, 6, 3, 2)}, 1},
	{"a stride of 1 x 1", 2, 16, 6, 6, {PLAIN("a", NULL, 32, 1, 2)}, 1},
	{"windows that overlap", 2, 8, 7, 8, {POOL(3, 2, 1)}, 1},
	{"a mean", 3, 16, 5, 4, {MEAN}, 1},
	{"a mean and linear", 3, 5, 3, 3, {MEAN, LINEAR(4, false)}, 2},
	{"normalization", 3, 16, 5, 4, {NORM("n", false)}, 1},
	{"normalization of vectors", 4, 9, 1, 1, {NORM("n", false)}, 1},
	{"normalization, ReLU", 3, 5, 3, 4, {NORM("n", true)}, 1},
	{"convolution without bias, ReLU, pooling",
	 2,
	 3,
	 8,
	 8,
	 {{.name = "a",
	   .kind = LAYER_CONVOLUTION,
	   .out = 16,
	   .kernel = 3,
	   .no_bias = true,
	   .relu = true},
	  POOL(2, 2, 0)},
	 2},
	{"a stem",
	 2,
	 3,
	 16,
	 15,
	 {PLAIN("a", NULL, 16, 7, 2), NORM("n", true), POOL(3, 2, 1), PLAIN("b", NULL, 16, 3, 1)},
	 4},
	{"a block",
	 3,
	 16,
	 6,
	 5,
	 {PLAIN("a", NULL, 16, 3, 1), NORM("n", true), PLAIN("b", NULL, 16, 3, 1), NORM("o", false),
	  ADD("add", NULL, "before", true), MEAN, LINEAR(4, false)},
	 7},
	{"a block with a projection",
	 3,
	 8,
	 6,
	 6,
	 {PLAIN("a", NULL, 16, 3, 2), NORM("n", true), PLAIN("b", NULL, 16, 3, 1), NORM("o", false),
	  PLAIN("down", "before", 16, 1, 2), NORM("p", false), ADD("add", "o", "p", true)},
	 7},
	{"a bottleneck",
	 3,
	 8,
	 6,
	 6,
	 {PLAIN("a", NULL, 4, 1, 1), NORM("n", true), PLAIN("b", NULL, 4, 3, 1), NORM("o", true),
	  PLAIN("c", NULL, 8, 1, 1), NORM("p", false), ADD("add", "p", "before", true)},
	 7},
};

enum { BLOCKS = sizeof(blocks) / sizeof(*blocks) };

#endif
