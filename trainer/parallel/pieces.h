/* SPDX-License-Identifier: MIT */
/*
 * What a replica does of a step between what it and others wait for: pieces, each of which its
 * device records by itself, where a whole step cannot be recorded because its ranks or replicas are
 * threads of one process.
 */
#ifndef TRAIN_PARALLEL_PIECES_H
#define TRAIN_PARALLEL_PIECES_H

#include "parallel/replica.h"

struct pieces {
	struct replica *replica;
	int slots;
	bool has_loss;
	struct recorder *forward, *evaluation, *backward, *update;
};

/* Pass p is in slot p modulo `slots`. has_loss: forward goes on to the loss, and in training to its
 * gradient. */
bool pieces_open(struct pieces *pieces, struct replica *replica, int slots, bool has_loss,
		 struct train_error *error);
/* Before the replica is closed. One of zeros is nothing. */
void pieces_close(struct pieces *pieces);

/* Each of one pass of so many; none of steps that are timed is recorded. forward begins with the
 * pass's images and labels. */
bool pieces_forward(struct pieces *pieces, int64_t pass, bool test, struct train_error *error);
bool pieces_backward(struct pieces *pieces, int64_t pass, int64_t passes,
		     struct train_error *error);
/* replica_update(). */
bool pieces_update(struct pieces *pieces, struct train_error *error);

#endif
