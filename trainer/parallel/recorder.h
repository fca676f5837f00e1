/* SPDX-License-Identifier: MIT */
/*
 * Runs a step that differs from others in its number of passes alone, or a piece of one that
 * differs in its pass too, and has the device record it: one recording for each. The first run of
 * each is as it is, since libraries prepare themselves then in ways that cannot be recorded.
 *
 * NCCL wants a call to be recorded by all ranks or by none, and a recording that has it to be run
 * by all together (its user guide, "Using NCCL with CUDA Graphs"). A rank does not know others'
 * passes, which can be other than its own, but the samples of all ranks, of which all have their
 * parts: recordings are told apart by these, so that all ranks do the same in each step.
 */
#ifndef TRAIN_PARALLEL_RECORDER_H
#define TRAIN_PARALLEL_RECORDER_H

#include "backend/backend.h"

struct recorder;

/* A step of so many passes, or a piece of its pass `pass`, from 0. of_all: the samples of all ranks
 * in it; 0 where no rank waits for others in it. as_is, on all ranks: nothing is recorded or
 * repeated, so that what it does can be timed. */
struct recorder_step {
	int64_t pass, passes, of_all;
	bool as_is;
};

typedef bool recorder_issue(void *argument, const struct recorder_step *step,
			    struct train_error *error);

struct recorder_options {
	struct device *device;
	recorder_issue *issue;
	void *argument;
};

bool recorder_open(struct recorder **recorder, const struct recorder_options *options,
		   struct train_error *error);
/* NULL is nothing. */
void recorder_close(struct recorder *recorder);

bool recorder_run(struct recorder *recorder, const struct recorder_step *step,
		  struct train_error *error);

#endif
