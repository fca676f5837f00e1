/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of one step on one parameter, each element by itself. In fp32, in PyTorch 1.13's
 * order on the CPU (single-tensor form, and for-each form, which round alike), where fma(a, b, c)
 * rounds once:
 *
 *	g = (gradient inv_scale) clip, each product rounded
 *	SGD	g = fma(w, decay, g)	(decay 0: left out)
 *		without momentum: w = fma(g, -lr, w)
 *		m = m momentum + g	(m begins as 0, so the first is g; dampening is 0)
 *		g = m, or with Nesterov's momentum fma(m, momentum, g)
 *		w = fma(g, -lr, w)
 *	Adam	g = fma(w, decay, g)	(decay 0: left out)
 *	AdamW	w = w keep		keep = 1 - lr decay, from double
 *	both	m = fma(g, 1 - beta1, m beta1)
 *		v = fma((1 - beta2) g, g, v beta2)
 *		w = w + (-step m) / (sqrt(v) / root + eps)
 *		step = lr / (1 - beta1^t), root = sqrt(1 - beta2^t), from double; t counts from 1
 *
 * PyTorch 2 forms Adam's m as m + (g - m) (1 - beta1) and so differs in the last place. The factors
 * of a step are computed in optimizer.c; kernels/update.cu does both on a GPU.
 */
#ifndef TRAIN_UPDATE_H
#define TRAIN_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

enum update_rule { RULE_SGD, RULE_ADAM };

struct update {
	enum update_rule rule;
	float *weight;
	const float *gradient;
	uint16_t *copy;  /* gets the new weights in bfloat16; NULL: none */
	float *mean;     /* m, its first state; NULL for SGD without momentum */
	float *variance; /* v, its second; NULL: it has none */

	float inv_scale, clip;
	float decay; /* into the gradient; 0 where decay is decoupled */
	float keep;  /* 1 where it is not */

	float minus_lr, momentum; /* momentum is Adam's beta1 */
	bool nesterov;

	float gain, beta2, gain2; /* gain = 1 - beta1, gain2 = 1 - beta2 */
	float minus_step, root, eps;
};

/* Elements from `begin` to before `end`. Every array is read and written once at most.
 * Ranges that do not overlap may be done by several threads. */
void update_run(const struct update *update, int64_t begin, int64_t end);

#endif
