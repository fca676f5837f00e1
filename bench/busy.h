/* SPDX-License-Identifier: MIT */
/*
 * A collective of one rank on a GPU whose sums only take time: the kernel `busy` on a stream of
 * high priority, forked from the device's stream and joined with it as NCCL's is. So a step can be
 * measured with communication of any length on one card. Alternatively it does no work, but marks
 * on the device where a recorded step would begin to communicate.
 */
#ifndef BENCH_BUSY_H
#define BENCH_BUSY_H

#include "collective/collective.h"
#include "kernels/busy.h"
#include "parallel/buckets.h"

enum busy_what {
	BUSY_NOTHING, /* sums put nothing on any stream */
	BUSY_KERNEL,  /* sums are the kernel */
	BUSY_MARKS    /* sums and the join are marks on the device's stream */
};

struct busy {
	enum busy_what what;
	struct busy_args args;
	struct collective calls; /* collective_self, except the calls for streams */
	struct busy_comm *comm;  /* of the rank, while it is open */
};

void busy_init(struct busy *busy, enum busy_what what, const struct busy_args *args);
/* The value of parallel_options.rendezvous. Both outlive the communicator; nothing is to be freed.
 */
struct rendezvous *busy_rendezvous(struct busy *busy);

/*
 * For BUSY_MARKS, after the wait for a recorded step: ready[i] is the time in microseconds, at most
 * 0, from the end of backward to when the gradients of bucket i were ready. Returns the number of
 * buckets; below 0: failed.
 */
int busy_ready(const struct busy *busy, double ready[MAX_BUCKETS], struct train_error *error);

/* Puts the kernel on the device's own stream, to measure how long it takes alone. */
bool busy_alone(struct device *device, const struct busy_args *args, struct train_error *error);

#endif
