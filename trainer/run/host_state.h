/* SPDX-License-Identifier: MIT */
/* Parameters, buffers and the optimizer's states on rank 0's host, in the form of a checkpoint. */
#ifndef TRAIN_RUN_HOST_STATE_H
#define TRAIN_RUN_HOST_STATE_H

#include "run/run.h"

enum { HOST_STATE_MAX_SLOTS = 2 };

struct host_state {
	int parameters, slots;
	struct tensor tensors[MODEL_MAX_PARAMETERS];
	float *slot_data[HOST_STATE_MAX_SLOTS][MODEL_MAX_PARAMETERS];
	struct checkpoint_slot slot[HOST_STATE_MAX_SLOTS];
	int buffers, counters;
	struct tensor buffer[2 * MODEL_MAX_LAYERS];
	struct checkpoint_counter counter[MODEL_MAX_LAYERS];
	char counter_names[MODEL_MAX_LAYERS][64];
	int64_t tracked[MODEL_MAX_LAYERS]; /* num_batches_tracked of each layer */
	struct checkpoint checkpoint;      /* points to the above */
	float *memory;
};

/* Makes zeroed room for all of it. On ranks other than 0 there is no room, and the tensors have no
 * data. */
void host_state_open(struct host_state *host, const struct run *run);
void host_state_close(struct host_state *host);

/* Copies between the host state of rank 0 and the ranks that have the values. All ranks call it. */
bool host_state_collect(struct host_state *host, struct run *run, struct train_error *error);
bool host_state_give(const struct host_state *host, struct run *run, bool slots,
		     struct train_error *error);

#endif
