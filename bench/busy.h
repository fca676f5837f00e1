/* SPDX-License-Identifier: MIT */
/*
 * A collective of one rank on a GPU whose sums are nothing but time: the kernel `busy` on a stream
 * of high priority beside the device's, forked and joined as NCCL's is. So a step can be measured
 * with communication of any length on one card. Or it leaves no work, but marks on the device where
 * a recorded step would begin to communicate.
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
	struct collective calls; /* of collective_self, but for what has to do with streams */
	struct busy_comm *comm;  /* of the rank, while it is open */
};

void busy_init(struct busy *busy, enum busy_what what, const struct busy_args *args);
/* What parallel_options.rendezvous is. Both outlive the communicator; nothing is to be freed. */
struct rendezvous *busy_rendezvous(struct busy *busy);

/*
 * Of BUSY_MARKS, after a recorded step was waited for: microseconds from when the gradients of each
 * bucket were ready to the end of backward, ready[i] <= 0, which is 0. Returns how many buckets
 * there are; below 0: failed.
 */
int busy_ready(const struct busy *busy, double ready[MAX_BUCKETS], struct train_error *error);

/* Puts the kernel on the device's own stream: what it takes alone can be measured. */
bool busy_alone(struct device *device, const struct busy_args *args, struct train_error *error);

#endif
