/* SPDX-License-Identifier: MIT */
/* Whether ranks fit together: their configuration, and the order of their weights. */
#ifndef TRAIN_PARALLEL_AGREE_H
#define TRAIN_PARALLEL_AGREE_H

#include "parallel/replica.h"

/* Checks that all ranks have the same settings and the same number of samples. If not, bad input on
 * all of them, with the first option that differs and the values of two ranks. Settings of one
 * process only may differ: its threads, its files, its progress. All ranks call it, before the
 * first step. */
bool config_agree(struct parallel *parallel, struct train_error *error);

/* Ranks add and copy flat buffers element by element, so all must keep them in one order; oneDNN
 * and the trainer's own kernels choose it by the processor. All ranks with replicas of the whole
 * model call it, before training. Gradients are zero afterwards. Bad input that names the first
 * rank with another order than rank 0. */
bool layout_agree(struct parallel *parallel, struct replica *replica, struct train_error *error);

#endif
