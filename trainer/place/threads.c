/* SPDX-License-Identifier: MIT */
/* See threads.h. */
#include "place/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct member {
	struct threads *threads;
	int index;
	pthread_t thread;
};

struct threads {
	int members, started; /* started: threads besides the caller's */
	pthread_mutex_t mutex;
	pthread_cond_t begin, end;

	/* Under the mutex */
	unsigned run; /* counts up when there is work */
	int busy;     /* threads that have not ended this run */
	bool leave, bad;
	struct train_error error; /* of the first to fail */

	/* Set between runs */
	threads_work *work;
	threads_failed *failed;
	void *argument;
	struct member member[];
};

static void take_part(struct threads *threads, int index)
{
	struct train_error error = {.status = TRAIN_OK};
	bool first;

	if (threads->work(threads->argument, index, &error))
		return;
	train_fail(&error, TRAIN_FAILED, "replica or rank %d failed without a reason", index);
	pthread_mutex_lock(&threads->mutex);
	first = !threads->bad;
	if (first)
		threads->error = error;
	threads->bad = true;
	pthread_mutex_unlock(&threads->mutex);
	if (first && threads->failed)
		threads->failed(threads->argument, index, &error);
}

/* False: the thread is to end. */
static bool wait_for_work(struct threads *threads, unsigned *seen)
{
	bool leave;

	pthread_mutex_lock(&threads->mutex);
	while (threads->run == *seen && !threads->leave)
		pthread_cond_wait(&threads->begin, &threads->mutex);
	*seen = threads->run;
	leave = threads->leave;
	pthread_mutex_unlock(&threads->mutex);
	return !leave;
}

static void *member_main(void *argument)
{
	const struct member *member = argument;
	struct threads *threads = member->threads;
	unsigned seen = 0;

	while (wait_for_work(threads, &seen)) {
		take_part(threads, member->index);
		pthread_mutex_lock(&threads->mutex);
		if (--threads->busy == 0)
			pthread_cond_signal(&threads->end);
		pthread_mutex_unlock(&threads->mutex);
	}
	return NULL;
}

/* The caller's thread takes signals, except those of a fault in a thread. */
static void block_signals(sigset_t *before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, before);
}

static int start(struct threads *threads)
{
	sigset_t before;
	int status = 0;

	block_signals(&before);
	for (int i = 1; i < threads->members && status == 0; i++) {
		struct member *member = &threads->member[i];

		*member = (struct member){.threads = threads, .index = i};
		status = pthread_create(&member->thread, NULL, member_main, member);
		if (status == 0)
			threads->started = i;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

bool threads_open(struct threads **ret, int members, struct train_error *error)
{
	struct threads *threads =
		xcalloc(1, sizeof(*threads) + (size_t)members * sizeof(threads->member[0]));
	int status;

	threads->members = members;
	pthread_mutex_init(&threads->mutex, NULL);
	pthread_cond_init(&threads->begin, NULL);
	pthread_cond_init(&threads->end, NULL);
	status = start(threads);
	if (status) {
		train_fail(error, TRAIN_FAILED,
			   "cannot start thread %d of %d: %s; raise the limit of processes "
			   "(ulimit -u) or use fewer devices",
			   threads->started + 1, members, strerror(status));
		threads_close(threads);
		return false;
	}
	*ret = threads;
	return true;
}

void threads_close(struct threads *threads)
{
	if (!threads)
		return;
	pthread_mutex_lock(&threads->mutex);
	threads->leave = true;
	pthread_cond_broadcast(&threads->begin);
	pthread_mutex_unlock(&threads->mutex);
	for (int i = 1; i <= threads->started; i++)
		pthread_join(threads->member[i].thread, NULL);
	pthread_cond_destroy(&threads->end);
	pthread_cond_destroy(&threads->begin);
	pthread_mutex_destroy(&threads->mutex);
	free(threads);
}

bool threads_run(struct threads *threads, threads_work *work, threads_failed *failed,
		 void *argument, struct train_error *error)
{
	bool bad;

	pthread_mutex_lock(&threads->mutex);
	threads->work = work;
	threads->failed = failed;
	threads->argument = argument;
	threads->bad = false;
	threads->busy = threads->started;
	threads->run++;
	pthread_cond_broadcast(&threads->begin);
	pthread_mutex_unlock(&threads->mutex);

	take_part(threads, 0);

	pthread_mutex_lock(&threads->mutex);
	while (threads->busy)
		pthread_cond_wait(&threads->end, &threads->mutex);
	bad = threads->bad;
	if (bad && error->status == TRAIN_OK)
		*error = threads->error;
	pthread_mutex_unlock(&threads->mutex);
	return !bad;
}
