/* SPDX-License-Identifier: MIT */
/* Threads of one process that do the same work side by side: the replicas of dp, and ranks. */
#ifndef TRAIN_PLACE_THREADS_H
#define TRAIN_PLACE_THREADS_H

#include "base/error.h"

struct threads;

/* The work of member `index`. A member always has the same thread, and member 0 the caller's. */
typedef bool threads_work(void *argument, int index, struct train_error *error);

/* False when a thread cannot be started. */
bool threads_open(struct threads **threads, int members, struct train_error *error);
void threads_close(struct threads *threads);

/* Runs the work of all members, and returns when all are done. False if one failed, with the error
 * of the first to fail. That member calls `failed`, unless NULL, at once, so that it can wake
 * members that wait for it. */
typedef void threads_failed(void *argument, int index, const struct train_error *error);
bool threads_run(struct threads *threads, threads_work *work, threads_failed *failed,
		 void *argument, struct train_error *error);

#endif
