/* SPDX-License-Identifier: MIT */
/*
 * How values get from rank to rank once all are in the same call. Each begins with the call's first
 * phase. `at` is the index of the call's record.
 */
#ifndef TRAIN_COLLECTIVE_SHM_DATA_H
#define TRAIN_COLLECTIVE_SHM_DATA_H

#include "collective/shm_control_block.h"

struct shm_data {
	bool (*sum)(struct shm_comm *comm, int at, float *values, int64_t count,
		    struct train_error *error);
	bool (*broadcast)(struct shm_comm *comm, int at, void *values, size_t bytes, int root,
			  struct train_error *error);
	bool (*gather)(struct shm_comm *comm, int at, const void *mine, void *all, size_t bytes,
		       struct train_error *error);
};

/* At most SHM_SMALL bytes, through the records; threads with each other's memory; processes through
 * the segment, in chunks. */
extern const struct shm_data shm_small, shm_threads, shm_chunks;

/* One message; `what` was noted by shm_start. */
bool shm_p2p_send(struct shm_comm *comm, int to, const void *values, size_t bytes,
		  struct train_error *error);
bool shm_p2p_receive(struct shm_comm *comm, int from, void *values, size_t bytes,
		     struct train_error *error);

#endif
