/* SPDX-License-Identifier: MIT */
/*
 * Batch normalization (Ioffe and Szegedy, 2015) on the CPU, as torch.nn.BatchNorm2d computes it,
 * for every layout that oneDNN's convolutions give: `samples` times `groups` planes of `places`
 * places, with `inner` neighbouring channels each. Row-major has inner 1 and a group for each
 * channel; blocked has 8 or 16; channels-last all channels and one group. Channels of a last group
 * that do not exist are padding: zero.
 *
 * Sums are doubles and their order does not depend on the number of threads, so all threads and
 * processors give the same bits.
 */
#ifndef TRAIN_BACKEND_CPU_BATCH_NORM_H
#define TRAIN_BACKEND_CPU_BATCH_NORM_H

#include "backend/cpu/cpu.h"

struct cpu_batch_norm {
	enum value_type type; /* float32 or bfloat16 */
	int64_t samples, groups, places, inner;
	int64_t channels;   /* without padding */
	bool relu;          /* of the output */
	bool relu_backward; /* gradients whose output is not greater than zero count as zero */
	double eps, momentum;
	int ranks; /* the most that a run has; 0: none */
};

/* Bytes of workspace, which forward leaves for backward, and of scratch. */
size_t cpu_batch_norm_workspace(const struct cpu_batch_norm *norm);
size_t cpu_batch_norm_scratch(const struct cpu_batch_norm *norm);

/*
 * args->training: normalizes by the mean and the biased variance of the rows that count, and moves
 * the running mean and variance towards them: r = (1 - momentum) * r + momentum * x, where x is the
 * mean, and the variance times n / (n - 1) of n values in a channel; of one value the running
 * variance stays. Otherwise it normalizes by the running ones, and nothing can follow backward.
 * The output of rows that do not count is zero in training. This and backward_weights fail only if
 * ranks->gather does.
 */
bool cpu_batch_norm_forward(const struct cpu_batch_norm *norm, const struct cpu_team *team,
			    const struct op_args *args, struct train_error *error);
/* backward_weights first; backward_data reads what it leaves in the workspace. The gradients of
 * rows that do not count are ignored, and those of their inputs are zero. */
bool cpu_batch_norm_backward_weights(const struct cpu_batch_norm *norm, const struct cpu_team *team,
				     const struct op_args *args, struct train_error *error);
void cpu_batch_norm_backward_data(const struct cpu_batch_norm *norm, const struct cpu_team *team,
				  const struct op_args *args);

#endif
