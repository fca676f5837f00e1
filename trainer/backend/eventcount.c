/* SPDX-License-Identifier: MIT */
/* See eventcount.h. */
#include "backend/eventcount.h"

bool eventcount_init(struct eventcount *e)
{
	*e = (struct eventcount){.count = 0};
	if (pthread_mutex_init(&e->mutex, NULL) != 0)
		return false;
	if (pthread_cond_init(&e->changed, NULL) == 0)
		return true;
	pthread_mutex_destroy(&e->mutex);
	return false;
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
