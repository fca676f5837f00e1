/* SPDX-License-Identifier: MIT */
/* See eventcount.h. */
#include "backend/eventcount.h"

void eventcount_init(struct eventcount *e)
{
	*e = (struct eventcount){.mutex = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER};
}

void eventcount_advance(struct eventcount *e)
{
	pthread_mutex_lock(&e->mutex);
	e->count++;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->mutex);
}

bool eventcount_await(struct eventcount *e, uint64_t count)
{
	bool aborted;

	pthread_mutex_lock(&e->mutex);
	while (e->count < count && !e->aborted)
		pthread_cond_wait(&e->changed, &e->mutex);
	aborted = e->aborted;
	pthread_mutex_unlock(&e->mutex);
	return !aborted;
}

void eventcount_abort(struct eventcount *e)
{
	pthread_mutex_lock(&e->mutex);
	e->aborted = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->mutex);
}

void eventcount_destroy(struct eventcount *e)
{
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->mutex);
}
