/* SPDX-License-Identifier: MIT */
/* Cross entropy over log-softmax in fp32, as torch.nn.functional.cross_entropy has it. */
#ifndef TRAIN_LOSS_H
#define TRAIN_LOSS_H

#include <stdint.h>

struct loss_batch {
	const float *logits;   /* (samples, classes), row-major */
	const uint8_t *labels; /* (samples), each below classes */
	int64_t samples;
	int classes; /* 1 to 256 */

	/*
	 * What the mean is taken over: the samples of all ranks, replicas and micro-batches of
	 * this step, not those of this batch alone. So the shares of n_1, n_2, ... of N samples
	 * weigh n_r / N, and their losses and gradients add up to the whole's exactly, even or
	 * not. (PyTorch's DDP averages means instead, which weighs short ranks too much.)
	 */
	int64_t count;
	float scale; /* of the gradient: the loss scaler's, else 1 */
};

struct loss_result {
	double loss;     /* this batch's share of the mean: sum of -log p[label] / count */
	int64_t correct; /* samples whose label has the greatest logit, the first of equals */
};

/*
 * With m the greatest logit of a sample, log p[c] = x[c] - m - log(sum of exp(x - m)).
 *
 * `gradient`, unless it is NULL, becomes that of scale times the loss by the logits, in the same
 * shape: (p[c] - (c is the label)) scale / count. It may be the logits' own memory. A sample with
 * a NaN or a positive infinity has a loss and gradients of NaN, and is not correct.
 */
struct loss_result loss_cross_entropy(const struct loss_batch *batch, float *gradient);

#endif
