/* SPDX-License-Identifier: MIT */
/*
 * Winograd's convolution F(2x2, 3x3) of bfloat16 values with sums in float32 (cpu/winograd.h has
 * F(4x4) in float32): 16 products for 4 outputs of each pair of channels, not 36. Transformed
 * values are rounded to bfloat16 again, so the error is up to twice that of plain sums, which round
 * weights and outputs only; with 4x4 it would be many times that. So it is for outputs and the
 * data's gradient, which are rounded anyway, and not for the weights' gradient, which is not.
 * Nothing depends on the number of threads.
 *
 * Activations lie as (batch, channels / 16, height, width, 16).
 */
#ifndef TRAIN_BACKEND_CPU_WINOGRAD_BF16_H
#define TRAIN_BACKEND_CPU_WINOGRAD_BF16_H

#include "backend/cpu/winograd.h"

/* Whether this processor has AVX-512 with bfloat16. */
bool cpu_winograd_bf16_here(void);

/* Bytes of transformed weights, and of a run's scratch. */
size_t cpu_winograd_bf16_transformed(const struct cpu_winograd *w);
size_t cpu_winograd_bf16_scratch(const struct cpu_winograd *w, int threads);

/* Transforms weights that lie as (in, 3, 3, out), turned by 180 degrees for the data's gradient, of
 * which w is cpu_winograd_data(). */
void cpu_winograd_bf16_weights(const struct cpu_winograd *w, const struct cpu_team *team,
			       const float *weight, bool turned, void *transformed);
void cpu_winograd_bf16_run(const struct cpu_winograd *w, const struct cpu_team *team,
			   const struct cpu_winograd_run *run);

#endif
