/* SPDX-License-Identifier: MIT */
/* Checks that all ranks keep their weights in the same order. */
#ifndef TRAIN_PARALLEL_LAYOUT_AGREE_H
#define TRAIN_PARALLEL_LAYOUT_AGREE_H

#include "parallel/replica.h"

/* Ranks add and copy flat buffers element by element, so all must keep them in one order; oneDNN
 * and the trainer's own kernels choose it by the processor. All ranks with replicas of the whole
 * model call it, before training. Gradients are zero afterwards. Bad input that names the first
 * rank with another order than rank 0. */
bool layout_agree(struct parallel *parallel, struct replica *replica, struct train_error *error);

#endif
