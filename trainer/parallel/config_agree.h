/* SPDX-License-Identifier: MIT */
/* Whether ranks that are processes, each with options of its own, have the same configuration. */
#ifndef TRAIN_PARALLEL_CONFIG_AGREE_H
#define TRAIN_PARALLEL_CONFIG_AGREE_H

#include "parallel/parallel.h"

/* Checks that all ranks have the same settings and the same number of samples. If not, bad input on
 * all of them, with the first option that differs and the values of two ranks. Settings of one
 * process only may differ: its threads, its files, its progress. All ranks call it, before the
 * first step. */
bool config_agree(struct parallel *parallel, struct train_error *error);

#endif
