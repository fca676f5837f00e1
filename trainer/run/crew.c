/* SPDX-License-Identifier: MIT */
#include "run/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct member {
	struct crew *crew;
	int index;
	pthread_t thread;
};

struct crew {
	int members, started; /* started: threads besides the caller's */
	pthread_mutex_t mutex;
	pthread_cond_t begin, end;

	/* Under the mutex */
	unsigned run; /* counts up when there is work */
	int busy;     /* threads that have not ended this run */
	bool leave, bad;
	struct train_error error; /* of the first to fail */

	/* Set between runs */
	crew_work *work;
	crew_failed *failed;
	void *argument;
	struct member member[];
};

static void take_part(struct crew *crew, int index)
{
	struct train_error error = {.status = TRAIN_OK};
	bool first;

	if (crew->work(crew->argument, index, &error))
		return;
	train_fail(&error, TRAIN_FAILED, "replica or rank %d failed without a reason", index);
	pthread_mutex_lock(&crew->mutex);
	first = !crew->bad;
	if (first)
		crew->error = error;
	crew->bad = true;
	pthread_mutex_unlock(&crew->mutex);
	if (first && crew->failed)
		crew->failed(crew->argument, index, &error);
}

/* False: leave. */
static bool wait_for_work(struct crew *crew, unsigned *seen)
{
	bool leave;

	pthread_mutex_lock(&crew->mutex);
	while (crew->run == *seen && !crew->leave)
		pthread_cond_wait(&crew->begin, &crew->mutex);
	*seen = crew->run;
	leave = crew->leave;
	pthread_mutex_unlock(&crew->mutex);
	return !leave;
}

static void *member_main(void *argument)
{
	const struct member *member = argument;
	struct crew *crew = member->crew;
	unsigned seen = 0;

	while (wait_for_work(crew, &seen)) {
		take_part(crew, member->index);
		pthread_mutex_lock(&crew->mutex);
		if (--crew->busy == 0)
			pthread_cond_signal(&crew->end);
		pthread_mutex_unlock(&crew->mutex);
	}
	return NULL;
}

/* Signals are for the caller's thread, but for those that a fault of its own sends to a thread. */
static void block_signals(sigset_t *before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, before);
}

static int start(struct crew *crew)
{
	sigset_t before;
	int status = 0;

	block_signals(&before);
	for (int i = 1; i < crew->members && status == 0; i++) {
		struct member *member = &crew->member[i];

		*member = (struct member){.crew = crew, .index = i};
		status = pthread_create(&member->thread, NULL, member_main, member);
		if (status == 0)
			crew->started = i;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

bool crew_open(struct crew **ret, int members, struct train_error *error)
{
	struct crew *crew;
	int status;

	if (members < 1)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "a crew of %d threads; give it at least 1", members);
	crew = calloc(1, sizeof(*crew) + (size_t)members * sizeof(crew->member[0]));
	if (!crew)
		return train_nomem(error, "the threads of replicas or ranks");
	crew->members = members;
	pthread_mutex_init(&crew->mutex, NULL);
	pthread_cond_init(&crew->begin, NULL);
	pthread_cond_init(&crew->end, NULL);
	status = start(crew);
	if (status) {
		train_fail(error, TRAIN_FAILED,
			   "cannot start thread %d of %d: %s; raise the limit of processes "
			   "(ulimit -u) or use fewer devices",
			   crew->started + 1, members, strerror(status));
		crew_close(crew);
		return false;
	}
	*ret = crew;
	return true;
}

void crew_close(struct crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->mutex);
	crew->leave = true;
	pthread_cond_broadcast(&crew->begin);
	pthread_mutex_unlock(&crew->mutex);
	for (int i = 1; i <= crew->started; i++)
		pthread_join(crew->member[i].thread, NULL);
	pthread_cond_destroy(&crew->end);
	pthread_cond_destroy(&crew->begin);
	pthread_mutex_destroy(&crew->mutex);
	free(crew);
}

bool crew_run(struct crew *crew, crew_work *work, crew_failed *failed, void *argument,
	      struct train_error *error)
{
	bool bad;

	pthread_mutex_lock(&crew->mutex);
	crew->work = work;
	crew->failed = failed;
	crew->argument = argument;
	crew->bad = false;
	crew->busy = crew->started;
	crew->run++;
	pthread_cond_broadcast(&crew->begin);
	pthread_mutex_unlock(&crew->mutex);

	take_part(crew, 0);

	pthread_mutex_lock(&crew->mutex);
	while (crew->busy)
		pthread_cond_wait(&crew->end, &crew->mutex);
	bad = crew->bad;
	if (bad && error->status == TRAIN_OK)
		*error = crew->error;
	pthread_mutex_unlock(&crew->mutex);
	return !bad;
}
