/* SPDX-License-Identifier: MIT */
/* Parameters and the optimizer's states on rank 0's host, in the form of a checkpoint. */
#ifndef TRAIN_RUN_STORE_H
#define TRAIN_RUN_STORE_H

#include "run/run.h"

enum { STORE_MOST_SLOTS = 2 };

struct store {
	int parameters, slots;
	struct tensor tensors[2 * MODEL_MOST_LAYERS];
	float *slot_data[STORE_MOST_SLOTS][2 * MODEL_MOST_LAYERS];
	struct checkpoint_slot slot[STORE_MOST_SLOTS];
	struct checkpoint checkpoint; /* points to the above */
	float *memory;
};

/* Room for all of it, zero; on ranks other than 0 there is none, and the tensors have no data. */
bool store_open(struct store *store, const struct run *run, struct train_error *error);
void store_close(struct store *store);

/* Between the store of rank 0 and the ranks that hold them. All ranks call it. */
bool store_collect(struct store *store, struct run *run, struct train_error *error);
bool store_give(const struct store *store, struct run *run, bool slots, struct train_error *error);

#endif
