/* SPDX-License-Identifier: MIT */
/*
 * The gradients that are reduced together, as DistributedDataParallel decides from the second step
 * on (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size): parameters in
 * the order in which backward makes their gradients ready, from the last layer to the first; a
 * bucket ends with the parameter that brings it to its limit or over; the first bucket has a limit
 * of 1 MiB, so that sending begins early, others of 25 MiB. In the flat buffer of gradients a
 * bucket is contiguous, so nothing is copied.
 */
#ifndef TRAIN_BUCKETS_H
#define TRAIN_BUCKETS_H

#include "model/model.h"

enum { MAX_BUCKETS = MODEL_MAX_PARAMETERS };

struct bucket {
	int64_t first, elements; /* in the flat buffer of the model */
	int layer;               /* ready with this layer: the first one in it */
};

struct buckets {
	int count;
	struct bucket each[MAX_BUCKETS]; /* in the order of reduction */
};

/* Limits in bytes, above 0. Parameters that reach no loss are part of a bucket between others, with
 * gradients of zero; a bucket of nothing else is left out. */
void buckets_make(struct buckets *buckets, const struct model_shapes *shapes, double first_limit,
		  double limit);

#endif
