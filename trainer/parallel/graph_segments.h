/* SPDX-License-Identifier: MIT */
/*
 * The segments of a replica's step between the points where it and others wait. The device records
 * each segment separately if it cannot record the whole step, because ranks or replicas are threads
 * of one process.
 */
#ifndef TRAIN_PARALLEL_GRAPH_SEGMENTS_H
#define TRAIN_PARALLEL_GRAPH_SEGMENTS_H

#include "parallel/replica.h"

struct graph_segments {
	struct replica *replica;
	int slots;
	bool has_loss;
	struct step_graph *forward, *evaluation, *backward, *update;
};

/* Pass p uses slot p modulo `slots`. has_loss: forward includes the loss, and in training the
 * loss's gradient. */
void graph_segments_open(struct graph_segments *segments, struct replica *replica, int slots,
			 bool has_loss);
/* Call it before the replica is closed. Does nothing for one of zeros. */
void graph_segments_close(struct graph_segments *segments);

/* Each runs one of so many passes. Steps that are timed are not recorded. forward begins with the
 * pass's images and labels. */
bool graph_segments_forward(struct graph_segments *segments, int64_t pass, bool test,
			    struct train_error *error);
bool graph_segments_backward(struct graph_segments *segments, int64_t pass, int64_t passes,
			     struct train_error *error);
/* replica_update(). */
bool graph_segments_update(struct graph_segments *segments, struct train_error *error);

#endif
