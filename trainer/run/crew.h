/* SPDX-License-Identifier: MIT */
/* Threads of one process that do the same work side by side: the replicas of dp, and ranks. */
#ifndef TRAIN_RUN_CREW_H
#define TRAIN_RUN_CREW_H

#include "error.h"

struct crew;

/* What member `index` does; a member always has the same thread, and member 0 the caller's. */
typedef bool crew_work(void *argument, int index, struct train_error *error);

/* False when a thread cannot be started. */
bool crew_open(struct crew **crew, int members, struct train_error *error);
void crew_close(struct crew *crew);

/* All members do it, and the call returns when all have. False if one failed: the error is that
 * of the first one to fail. `failed`, unless NULL, is called by it at once, so that it can wake
 * members that wait for it. */
typedef void crew_failed(void *argument, int index, const struct train_error *error);
bool crew_run(struct crew *crew, crew_work *work, crew_failed *failed, void *argument,
	      struct train_error *error);

#endif
