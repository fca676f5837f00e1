/* SPDX-License-Identifier: MIT */
/*
 * Max-pooling of kernel x kernel for every layout that oneDNN's convolutions give: planes of height
 * x width places with `inner` neighbouring channels each. Row-major has 1 and batch * channels
 * planes; blocked has 8 or 16; channels-last all channels.
 *
 * Windows lie `stride` apart and begin `pad` places outside, where there are no values. With that
 * the output's sizes are (size + 2 pad - kernel) / stride + 1, and pad <= kernel / 2, so that every
 * window has a value.
 */
#ifndef TRAIN_BACKEND_CPU_POOL_H
#define TRAIN_BACKEND_CPU_POOL_H

#include "backend/cpu/team.h"
#include "kernels/value.h"

enum { CPU_POOL_MAX_KERNEL = 15 }; /* a place in the kernel is a byte */

struct cpu_pool {
	enum value_type type; /* float32 or bfloat16 */
	int64_t planes, inner;
	int64_t in_height, in_width, out_height, out_width;
	int kernel, stride, pad;
	bool relu_backward; /* also ReLU's derivative: zero where the output is not greater than
			       zero */
};

/* chosen: a byte for each output, read by backward. */
void cpu_pool_forward(const struct cpu_pool *pool, const struct cpu_team *team, const void *input,
		      void *output, uint8_t *chosen);
void cpu_pool_backward(const struct cpu_pool *pool, const struct cpu_team *team,
		       void *input_gradient, const void *output_gradient, const void *output,
		       const uint8_t *chosen);

#endif
