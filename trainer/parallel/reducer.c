/* SPDX-License-Identifier: MIT */
/* See reducer.h. */
#include "parallel/reducer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "memory.h"

struct reducer {
	struct reducer_options options;
	struct buckets buckets;
	char names[MAX_BUCKETS][TIMELINE_NAME];
	int ready, done; /* buckets of this step */
	bool threaded;   /* overlap is a thread's work, not a stream's */
	bool ended;
	struct train_error error;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

static bool reduce(struct reducer *r, int index, struct train_error *error)
{
	const struct bucket *bucket = &r->buckets.each[index];
	struct communicator *comm = r->options.comm;
	int64_t begin = timeline_begin(r->options.timeline);

	if (!comm->calls->all_reduce(comm, r->options.gradients + bucket->first, bucket->elements,
				     r->names[index], error))
		return false;
	timeline_add(r->options.timeline, r->names[index] + sizeof("gradients, ") - 1, begin);
	return true;
}

static void *reduce_thread(void *argument)
{
	struct reducer *r = argument;

	/* If that is not allowed, it keeps its CPUs. */
	if (r->options.cpus)
		pthread_setaffinity_np(pthread_self(), sizeof(*r->options.cpus), r->options.cpus);
	pthread_mutex_lock(&r->mutex);
	for (;;) {
		struct train_error error = {.status = TRAIN_OK};
		int index = r->done;

		while (!r->ended && r->done >= r->ready)
			pthread_cond_wait(&r->changed, &r->mutex);
		if (r->ended)
			break;
		index = r->done;
		pthread_mutex_unlock(&r->mutex);
		reduce(r, index, &error);
		pthread_mutex_lock(&r->mutex);
		if (error.status != TRAIN_OK)
			r->error = error;
		r->done++;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

bool reducer_open(struct reducer **ret, const struct reducer_options *options,
		  struct train_error *error)
{
	struct reducer *r = xcalloc(1, sizeof(*r));
	int status = 0;

	r->options = *options;
	r->buckets = *options->buckets;
	for (int i = 0; i < r->buckets.count; i++)
		snprintf(r->names[i], sizeof(r->names[i]), "gradients, bucket %d", i);
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->threaded = options->overlap && options->comm->calls->waits;
	if (r->threaded)
		status = pthread_create(&r->thread, NULL, reduce_thread, r);
	if (status) {
		r->threaded = false;
		reducer_close(r);
		return train_fail(
			error, TRAIN_FAILED,
			"cannot start the thread that reduces gradients: %s; write --overlap no",
			strerror(status));
	}
	*ret = r;
	return true;
}

void reducer_close(struct reducer *r)
{
	if (!r)
		return;
	if (r->threaded) {
		pthread_mutex_lock(&r->mutex);
		r->ended = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->mutex);
		pthread_join(r->thread, NULL);
	}
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->mutex);
	free(r);
}

/* Reduces the ready buckets in order, on this thread. */
static bool reduce_ready(struct reducer *r, struct train_error *error)
{
	bool done = r->done == r->ready || collective_fork(r->options.comm, error);

	while (done && r->done < r->ready)
		done = reduce(r, r->done++, error);
	return done;
}

bool reducer_ready(void *reducer, int layer, struct train_error *error)
{
	struct reducer *r = reducer;
	int ready = r->ready;

	while (ready < r->buckets.count && r->buckets.each[ready].layer >= layer)
		ready++;
	if (!r->threaded) {
		r->ready = ready;
		return !r->options.overlap || reduce_ready(r, error);
	}
	pthread_mutex_lock(&r->mutex);
	r->ready = ready;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	return true;
}

static void wait_for_thread(struct reducer *r)
{
	pthread_mutex_lock(&r->mutex);
	while (r->done < r->buckets.count)
		pthread_cond_wait(&r->changed, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
}

bool reducer_wait(struct reducer *r, int64_t *exposed_ns, struct train_error *error)
{
	int64_t begin = clock_ns(), at = timeline_begin(r->options.device);
	bool done;

	if (r->threaded)
		wait_for_thread(r);
	r->ready = r->buckets.count;
	done = reduce_ready(r, error) && collective_join(r->options.comm, error);
	*exposed_ns += clock_ns() - begin;
	timeline_add(r->options.device, REDUCER_WAIT, at);
	if (r->error.status != TRAIN_OK)
		done = train_fail(error, r->error.status, "%s", r->error.text);
	reducer_restart(r);
	return done;
}

void reducer_restart(struct reducer *r)
{
	pthread_mutex_lock(&r->mutex);
	r->ready = r->done = 0;
	pthread_mutex_unlock(&r->mutex);
}
