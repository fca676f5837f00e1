/* SPDX-License-Identifier: MIT */
/*
 * Winograd's convolution F(4x4, 3x3) in float32, for processors with AVX2 and no AVX-512, where
 * oneDNN has none: 36 products for 16 outputs of each pair of channels, not 144. After A. Lavin and
 * S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015 (arXiv:1509.09308): of a tile
 * d of 6 x 6 inputs and a kernel g the 4 x 4 outputs are A^T ((G g G^T) * (B^T d B)) A. Rounding is
 * about ten times that of plain sums. Nothing depends on the number of threads.
 *
 * Activations lie as (batch, channels / 8, height, width, 8). Weights, and their gradient, as
 * (in, 3, 3, out).
 */
#ifndef TRAIN_BACKEND_CPU_WINOGRAD_H
#define TRAIN_BACKEND_CPU_WINOGRAD_H

#include <stddef.h>

#include "backend/cpu/team.h"

/* A 3 x 3 convolution of stride 1. out_height = height + 2 pad - 2. Channels are multiples of 16.
 */
struct cpu_winograd {
	int64_t batch, in, out, height, width, out_height, out_width;
	int pad; /* 0 to 2 */
	bool relu;
};

/* Also of winograd_bf16.h, where input and output are of bfloat16. */
struct cpu_winograd_run {
	const void *input, *transformed; /* 32-byte, in bfloat16 64-byte aligned */
	const float *bias;               /* of `out`, or NULL */
	void *output;                    /* as the input */
	void *scratch;                   /* 64-byte aligned */
};

struct cpu_winograd_gradient {
	const float *input, *output_gradient; /* 32-byte aligned */
	/* Parts of flat buffers: as any float. bias_gradient: or NULL. */
	float *weight_gradient, *bias_gradient;
	void *scratch; /* 64-byte aligned */
};

/* Where a tile begins in the outputs. */
struct cpu_winograd_place {
	int64_t sample, y, x;
};

/* How many tiles of `size` x `size` outputs there are. */
static inline int64_t cpu_winograd_tiles(const struct cpu_winograd *w, int64_t size)
{
	return w->batch * ((w->out_width + size - 1) / size) * ((w->out_height + size - 1) / size);
}

static inline struct cpu_winograd_place cpu_winograd_place(const struct cpu_winograd *w,
							   int64_t size, int64_t tile)
{
	int64_t across = (w->out_width + size - 1) / size;
	int64_t each = across * ((w->out_height + size - 1) / size);

	return (struct cpu_winograd_place){tile / each, tile % each / across * size,
					   tile % across * size};
}

/* Whether this processor has AVX2 and no AVX-512. */
bool cpu_winograd_here(void);

/* The convolution that gives the gradient of the input from that of the output. */
struct cpu_winograd cpu_winograd_data(const struct cpu_winograd *w);

/* Bytes of transformed weights, and of a run's scratch. */
size_t cpu_winograd_transformed(const struct cpu_winograd *w);
size_t cpu_winograd_scratch(const struct cpu_winograd *w, int threads);
size_t cpu_winograd_gradient_scratch(const struct cpu_winograd *w);

/* Transforms the weights of w; with `data` those of the convolution that w was made from, for the
 * gradient of its data. */
void cpu_winograd_weights(const struct cpu_winograd *w, const struct cpu_team *team,
			  const float *weight, bool data, float *transformed);
void cpu_winograd_forward(const struct cpu_winograd *w, const struct cpu_team *team,
			  const struct cpu_winograd_run *run);
void cpu_winograd_backward_weights(const struct cpu_winograd *w, const struct cpu_team *team,
				   const struct cpu_winograd_gradient *run);

#endif
