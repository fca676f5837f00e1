/* SPDX-License-Identifier: MIT */
/* The parts of a rank that all modes share. */
#ifndef TRAIN_PARALLEL_RANK_H
#define TRAIN_PARALLEL_RANK_H

#include "parallel/replica.h"

/* Fills struct parallel, except the communicator, which needs a device. */
bool rank_open(struct parallel *parallel, const struct parallel_calls *calls,
	       const struct parallel_options *options, struct train_error *error);
/* Before the devices are closed. */
void rank_close(struct parallel *parallel);

/* A replica of the whole model on this rank's device, and the communicator. alone: as in struct
 * replica_options. */
bool rank_full_replica(struct parallel *parallel, struct replica *replica, bool alone,
		       struct train_error *error);
/* Enters a device of the rank. */
void rank_has(struct parallel *parallel, const struct replica *replica, int first, int last);
/* Opens the communicator; all ranks must have the same settings. */
bool rank_communicate(struct parallel *parallel, struct device *device, struct train_error *error);
void rank_abort(struct parallel *parallel, const struct train_error *why);

/* The output of a step that begins, still empty. */
struct step_output *rank_submit(struct parallel *parallel);
/* Whether times are those of streams, which the host does not see. */
bool rank_has_streams(const struct parallel *parallel);
/* Lets a time line show the work of a stream: the device's, or with `sums` the communicator's. */
void rank_clock(struct parallel *parallel, struct timeline *timeline, bool sums);
/* Does work of the communicator behind that of the device, and notes it in the time line. */
#define RANK_SENDS(p, name, work, error) \
	__extension__({ \
		struct parallel *p_ = (p); \
		int64_t begin_ = timeline_begin(p_->timeline[1]); \
		bool done_ = collective_fork(p_->comm, error) && (work) && \
			     collective_join(p_->comm, error); \
		if (done_) \
			timeline_add(p_->timeline[1], name, begin_); \
		done_; \
	})

/* Calls of struct parallel_calls where the rank's replica is the whole model. Without `host` they
 * do nothing. */
bool rank_read(struct parallel *parallel, int state, int parameter, float *host,
	       struct train_error *error);
bool rank_write(struct parallel *parallel, int state, int parameter, const float *host,
		struct train_error *error);
bool rank_evaluate(struct parallel *parallel, const struct step_input *input,
		   struct train_error *error);
/* Where each rank has what was written to it. */
bool rank_written(struct parallel *parallel, const struct optimizer_progress *progress,
		  struct train_error *error);

/* The device of this rank in the place, and its index among those of this process. */
const struct place_device *rank_device(const struct parallel_options *options, int *index);

#endif
