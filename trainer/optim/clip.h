/* SPDX-License-Identifier: MIT */
/*
 * Clipping gradients by their norm, as torch.nn.utils.clip_grad_norm_ does it. Gradients are not
 * rewritten: optimizer_begin() takes the coefficient (kernels/update.h), and the step multiplies by
 * it.
 */
#ifndef TRAIN_CLIP_H
#define TRAIN_CLIP_H

#include <stdint.h>

/*
 * sqrt(sum of (scale x[i])^2) in PyTorch's order on the CPU: eight sums in fp32, of every eighth
 * element, with fused multiply-add; then the sums from left to right, then the remaining elements.
 * Equal to PyTorch 2.3 to the bit, and to Debian's 1.13 where n % 8 < 4, else within 2 units in the
 * last place (its compiler rounds four products of the rest twice). Infinite or NaN if an element
 * is.
 */
float clip_norm(const float *x, int64_t n, float scale);

#endif
