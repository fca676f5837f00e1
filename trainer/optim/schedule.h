/* SPDX-License-Identifier: MIT */
/*
 * The learning rate of each step, as PyTorch's schedulers give it when they are stepped once per
 * optimizer step. A pure function of the step: nothing to save, and any step can be resumed.
 */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct rates {
	double lr;
	double momentum; /* of SGD; beta1 of Adam and AdamW */
};

enum schedule_kind {
	SCHEDULE_CONSTANT,
	SCHEDULE_COSINE,   /* CosineAnnealingLR(T_max=steps, eta_min=lr_min) */
	SCHEDULE_ONE_CYCLE /* OneCycleLR(max_lr=lr, total_steps=steps), cosine, two phases */
};

/*
 * constant   lr
 * cosine     lr_min + (lr - lr_min) (1 + cos(pi step / steps)) / 2
 *            This is PyTorch's closed form. Stepped, it multiplies the last rate by a ratio of
 *            cosines instead, and strays from the closed form by rounding (1e-13 of lr).
 * one-cycle  lr / div -> lr -> lr / div / final_div, while momentum goes momentum_max ->
 *            momentum_min -> momentum_max, both along half cosines. The first phase ends at step
 *            warmup * steps - 1, which need not be whole, the second at steps - 1.
 */
struct schedule {
	enum schedule_kind kind;
	int64_t steps;   /* of the optimizer in the whole training run; at least 1 */
	double lr;       /* the maximum; at least 0 */
	double momentum; /* the same in each step, except for one-cycle with cycle_momentum */
	double lr_min;   /* cosine only: 0 to lr */

	/* For one-cycle only. */
	double warmup;         /* 0 to 1 */
	double div, final_div; /* above 0 */
	bool cycle_momentum;   /* the optimizer has a momentum or a beta1 */
	double momentum_min, momentum_max;
};

/* PyTorch's defaults: lr_min 0, warmup 0.3, div 25, final_div 1e4, momentum 0.85 to 0.95. */
struct schedule schedule_default(enum schedule_kind kind, int64_t steps, struct rates rates);

/* For the step after `step` steps, so the first is 0. One-cycle has no step past the last, and
 * stays there. */
struct rates schedule_at(const struct schedule *schedule, int64_t step);

#endif
