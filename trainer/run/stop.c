/* SPDX-License-Identifier: MIT */
/* See stop.h. */
#include "run/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "report/progress.h"
#include "signal_name.h"

enum { STACK = 1 << 16, PATIENCE_S = 1 };

/* Signals are per process, and so is this state. */
static atomic_int asked;
static atomic_bool later, opened;

/* The reason for which the process ends. */
static struct {
	pthread_mutex_t mutex;
	struct train_error reason;
	bool reported;
} failure = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_IGN;
}

/* A blocked signal is kept for the waiting thread even if it is ignored, so ignored ones are left
 * out. The process itself uses SIGALRM. */
static void stop_set(sigset_t *set)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGHUP};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (!is_ignored(stops[i]))
			sigaddset(set, stops[i]);
	sigaddset(set, SIGALRM);
}

/* From now on this thread takes the signal, by this handler. */
static void take_signal(int number, void (*handler)(int number))
{
	sigset_t set;

	signal(number, handler);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

_Noreturn void stop_now(int number)
{
	progress_abandon();
	take_signal(number, SIG_DFL);
	raise(number);
	_exit(128 + number);
}

/* The error of the device's call, with a step or a rank. Any other reason is a consequence. */
static bool is_more_precise(const struct train_error *why)
{
	return strstr(why->text, failure.reason.text) != NULL;
}

static void note(const struct train_error *why)
{
	const struct itimerval limit = {.it_value = {.tv_sec = STOP_FAILED_S}};
	bool first;

	pthread_mutex_lock(&failure.mutex);
	first = failure.reason.status == TRAIN_OK;
	if (first || is_more_precise(why))
		failure.reason = *why;
	pthread_mutex_unlock(&failure.mutex);
	if (first)
		setitimer(ITIMER_REAL, &limit, NULL);
}

static void forget(void)
{
	const struct itimerval none = {.it_value = {.tv_sec = 0}};

	setitimer(ITIMER_REAL, &none, NULL);
	pthread_mutex_lock(&failure.mutex);
	failure.reason = (struct train_error){.status = TRAIN_OK};
	pthread_mutex_unlock(&failure.mutex);
}

static _Noreturn void leave(int number)
{
	_exit((int)failure.reason.status);
}

/* A thread that hangs may hold a stream's lock, and a pipe may have no reader. */
static _Noreturn void end_failed(void)
{
	take_signal(SIGALRM, leave);
	alarm(1);
	progress_abandon();
	if (!failure.reported)
		dprintf(STDERR_FILENO, "gpumap-train: %s\n", failure.reason.text);
	dprintf(STDERR_FILENO,
		"gpumap-train: warning: after that the process did not end within %d s: a call in "
		"it does not return, so it is ended; dmesg and nvidia-smi may show what hangs\n",
		STOP_FAILED_S);
	leave(0);
}

/* Other signals have their usual effect. */
static void alarm_came(void)
{
	pthread_mutex_lock(&failure.mutex);
	if (failure.reason.status != TRAIN_OK)
		end_failed();
	pthread_mutex_unlock(&failure.mutex);
	if (!is_ignored(SIGALRM))
		stop_now(SIGALRM);
}

/* A step or a test may take a while; a user who sees nothing happen would send the second
 * signal. */
static void report_asked(void)
{
	progress_show_text(FORMAT("gpumap-train: %s: stopping after this step; once more ends it "
				  "at once",
				  SIGNAL_TEXT(atomic_load(&asked))));
}

static void *wait_for_signals(void *argument)
{
	const struct timespec patience = {.tv_sec = PATIENCE_S};
	bool reported = true;
	sigset_t set;

	stop_set(&set);
	for (;;) {
		int number =
			reported ? sigwaitinfo(&set, NULL) : sigtimedwait(&set, NULL, &patience);

		if (number == SIGALRM) {
			alarm_came();
		} else if (number > 0 && (!atomic_load(&later) || atomic_load(&asked))) {
			stop_now(number);
		} else if (number > 0) {
			atomic_store(&asked, number);
			reported = false;
		} else if (errno == EAGAIN && !reported) {
			report_asked();
			reported = true;
		}
	}
	return argument;
}

bool stop_open(struct train_error *error)
{
	pthread_attr_t small;
	pthread_t thread;
	sigset_t set;
	int failed;

	stop_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	failed = pthread_attr_init(&small);
	if (!failed) {
		pthread_attr_setstacksize(&small, STACK);
		failed = pthread_create(&thread, &small, wait_for_signals, NULL);
		pthread_attr_destroy(&small);
	}
	if (failed)
		return train_fail(
			error, TRAIN_FAILED,
			"cannot start the thread that waits for signals: %s; raise the limit "
			"of processes (ulimit -u) or free memory",
			strerror(failed));
	pthread_detach(thread);
	train_device_listener(note, forget);
	atomic_store(&opened, true);
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

void stop_failed(const struct train_error *why)
{
	if (atomic_load(&opened))
		note(why);
}

void stop_reported(void)
{
	pthread_mutex_lock(&failure.mutex);
	failure.reported = true;
	pthread_mutex_unlock(&failure.mutex);
}
