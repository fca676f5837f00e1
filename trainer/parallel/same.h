/* SPDX-License-Identifier: MIT */
/* Ranks that are processes are told what to do one by one. */
#ifndef TRAIN_PARALLEL_SAME_H
#define TRAIN_PARALLEL_SAME_H

#include "parallel/parallel.h"

/* Were all ranks told the same, and have they as many samples? Otherwise bad input on all of them,
 * with the first option that differs and what two ranks have. What only concerns a process may
 * differ: its threads, its files, its progress. All ranks call it, before the first step. */
bool same_everywhere(struct parallel *parallel, struct train_error *error);

#endif
