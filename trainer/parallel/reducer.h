/* SPDX-License-Identifier: MIT */
/*
 * Sums the gradients of all ranks, bucket by bucket in their order. With overlap a thread reduces a
 * bucket while the rank's own continues with backward, or the communicator's stream does if the
 * collective does not wait. Without, all are reduced at the end. Either way sums are in the order
 * of ranks.
 */
#ifndef TRAIN_REDUCER_H
#define TRAIN_REDUCER_H

#include "collective/collective.h"
#include "parallel/buckets.h"
#include "report/timeline.h"

struct reducer;

struct reducer_options {
	struct communicator *comm;
	float *gradients; /* the flat buffer */
	const struct buckets *buckets;
	bool overlap;
	const cpu_set_t *cpus;     /* CPUs of the thread, other than backward's; NULL: the same */
	struct timeline *timeline; /* of communication, or NULL */
	/* Of the device, or NULL: gets REDUCER_WAIT if the communicator has its own stream. */
	struct timeline *device;
};

#define REDUCER_WAIT "wait for gradients"

/* If it has a thread, only the reducer may use the communicator from reducer_ready() of the first
 * bucket to the end of reducer_wait(); otherwise others may use it between its calls, all ranks in
 * the same order. */
bool reducer_open(struct reducer **reducer, const struct reducer_options *options,
		  struct train_error *error);
void reducer_close(struct reducer *reducer);

/* For struct model_watch: the gradients of this layer are complete, and buckets with them. */
bool reducer_ready(void *reducer, int layer, struct train_error *error);
/* Waits until all buckets are reduced. Adds the host's waiting time to *exposed_ns. */
bool reducer_wait(struct reducer *reducer, int64_t *exposed_ns, struct train_error *error);
/* After a recorded step failed between the two: nothing is ready. */
void reducer_restart(struct reducer *reducer);

#endif
