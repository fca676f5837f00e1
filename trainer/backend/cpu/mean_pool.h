/* SPDX-License-Identifier: MIT */
/*
 * Global average pooling: the mean of each channel of each sample, in host order. The layouts of
 * the input are those of cpu/batch_norm.h.
 */
#ifndef TRAIN_BACKEND_CPU_MEAN_POOL_H
#define TRAIN_BACKEND_CPU_MEAN_POOL_H

#include "backend/cpu/team.h"
#include "kernels/value.h"

struct cpu_mean_pool {
	enum value_type type; /* float32 or bfloat16 */
	int64_t samples, groups, places, inner;
	int64_t channels; /* without padding */
};

/* output: (samples, channels). Sums are doubles. */
void cpu_mean_pool_forward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			   const void *input, void *output);
/* Each place gets its share of the gradient; padding gets zero. */
void cpu_mean_pool_backward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			    void *input_gradient, const void *output_gradient);

#endif
