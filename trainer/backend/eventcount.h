/* SPDX-License-Identifier: MIT */
/*
 * An eventcount (D. P. Reed, R. K. Kanodia: Synchronization with eventcounts and sequencers, 1979):
 * a number that only grows, and threads that wait until it is great enough.
 */
#ifndef TRAINER_BACKEND_EVENTCOUNT_H
#define TRAINER_BACKEND_EVENTCOUNT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct eventcount {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t count;
	bool aborted;
};

/* Starts at 0. */
void eventcount_init(struct eventcount *e);
/* Adds 1. */
void eventcount_advance(struct eventcount *e);
/* Waits until the count is `count` or more. False: it was aborted, now or before. */
bool eventcount_await(struct eventcount *e, uint64_t count);
/* All waits fail, now and later. */
void eventcount_abort(struct eventcount *e);
/* Call it when no thread waits any more. */
void eventcount_destroy(struct eventcount *e);

#endif
