/* SPDX-License-Identifier: MIT */
/*
 * Sums the gradients of all ranks, bucket by bucket in their order. With overlap a thread reduces a
 * bucket while the rank's own goes on with backward, or the communicator's stream does where the
 * collective does not wait; without, all are reduced at the end. Sums are those of ranks in their
 * order either way.
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
	const cpu_set_t
		*cpus; /* of the thread, not those that backward has alone; NULL: the same */
	struct timeline *timeline; /* of communication, or NULL */
	/* Of the device, or NULL: gets REDUCER_WAIT, where the communicator has its own stream. */
	struct timeline *device;
};

#define REDUCER_WAIT "wait for gradients"

/* The communicator is the reducer's from reducer_ready() of the first bucket to reducer_wait(). */
bool reducer_open(struct reducer **reducer, const struct reducer_options *options,
		  struct train_error *error);
void reducer_close(struct reducer *reducer);

/* The gradients of this layer are there: its buckets are complete. */
bool reducer_ready(struct reducer *reducer, int layer, struct train_error *error);
/* Until all buckets are reduced. Adds the time that this took the host to *exposed_ns. */
bool reducer_wait(struct reducer *reducer, int64_t *exposed_ns, struct train_error *error);

#endif
