/* SPDX-License-Identifier: MIT */
#include "kernels-ahead.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *jobs;
	int count, next; /* the next that a thread takes */
	int held, most;  /* trials that are prepared or in work */
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The next job, or NULL. */
static struct job *take(void)
{
	struct job *job = NULL;

	pthread_mutex_lock(&ahead.lock);
	while (ahead.held >= ahead.most)
		pthread_cond_wait(&ahead.changed, &ahead.lock);
	while (ahead.next < ahead.count && ahead.jobs[ahead.next].skipped)
		ahead.next++;
	if (ahead.next < ahead.count) {
		job = &ahead.jobs[ahead.next++];
		ahead.held++;
	}
	pthread_mutex_unlock(&ahead.lock);
	return job;
}

static void *prepare(void *unused)
{
	struct job *job;

	while ((job = take())) {
		struct trial *t = calloc(1, sizeof(*t));

		if (!t)
			abort();
		t->shape = job->shape;
		t->poisons = job->poisons;
		trial_prepare(t, job->test, job->seed);
		pthread_mutex_lock(&ahead.lock);
		job->trial = t;
		pthread_cond_broadcast(&ahead.changed);
		pthread_mutex_unlock(&ahead.lock);
	}
	return NULL;
}

void begin_ahead(struct job *jobs, int count, int threads)
{
	pthread_t thread;

	ahead.jobs = jobs;
	ahead.count = count;
	ahead.most = threads + 1; /* and the one that the device computes */
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, prepare, NULL) == 0)
			pthread_detach(thread);
		else if (i == 0)
			abort();
}

struct trial *ahead_trial(struct job *job)
{
	pthread_mutex_lock(&ahead.lock);
	while (!job->trial)
		pthread_cond_wait(&ahead.changed, &ahead.lock);
	pthread_mutex_unlock(&ahead.lock);
	return job->trial;
}

void end_ahead(struct job *job)
{
	trial_free(job->trial);
	free(job->trial);
	pthread_mutex_lock(&ahead.lock);
	job->trial = NULL;
	ahead.held--;
	pthread_cond_broadcast(&ahead.changed);
	pthread_mutex_unlock(&ahead.lock);
}
