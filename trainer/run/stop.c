/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Of the process, as signals are. */
static atomic_int asked;
static atomic_bool later;

static void stop_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

_Noreturn void stop_now(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	_exit(128 + number);
}

static void *wait_for_signals(void *argument)
{
	int number;
	sigset_t set;

	stop_set(&set);
	while (sigwait(&set, &number) == 0) {
		if (!atomic_load(&later) || atomic_load(&asked))
			stop_now(number);
		atomic_store(&asked, number);
	}
	return argument;
}

bool stop_open(struct train_error *error)
{
	pthread_t thread;
	sigset_t set;
	int failed;

	stop_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	failed = pthread_create(&thread, NULL, wait_for_signals, NULL);
	if (failed)
		return train_fail(
			error, TRAIN_FAILED,
			"no thread can be started to wait for signals: %s; raise ulimit -u",
			strerror(failed));
	pthread_detach(thread);
	return true;
}

void stop_later(void)
{
	atomic_store(&later, true);
}

int stop_asked(void)
{
	return atomic_load(&asked);
}
