/* SPDX-License-Identifier: MIT */
/* --sync-batch-norm. */
#ifndef TRAIN_PARALLEL_SYNC_BATCH_NORM_H
#define TRAIN_PARALLEL_SYNC_BATCH_NORM_H

#include "parallel/parallel.h"

/* Lets the model normalize batches by the statistics of all ranks; with one rank nothing changes.
 * The model keeps `ranks`. Bad input: it has no batch normalization, or --overlap yes cannot be. */
bool sync_batch_norm(struct batch_ranks *ranks, struct parallel *parallel, struct model *model,
		     struct train_error *error);

#endif
