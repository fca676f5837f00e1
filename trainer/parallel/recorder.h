/* SPDX-License-Identifier: MIT */
/*
 * Runs a step that differs from others in its number of passes alone, and has the device record
 * it: one recording for each number. The first of each is run as it is, since libraries prepare
 * themselves then in ways that cannot be recorded.
 */
#ifndef TRAIN_PARALLEL_RECORDER_H
#define TRAIN_PARALLEL_RECORDER_H

#include "backend/backend.h"

struct recorder;

struct recorder_options {
	struct device *device;
	int64_t passes; /* at most */
	bool (*issue)(void *argument, int64_t passes, struct train_error *error);
	void *argument;
};

bool recorder_open(struct recorder **recorder, const struct recorder_options *options,
		   struct train_error *error);
void recorder_close(struct recorder *recorder);

/* as_is: nothing is recorded or repeated, so that what it does can be timed. */
bool recorder_run(struct recorder *recorder, int64_t passes, bool as_is, struct train_error *error);

#endif
