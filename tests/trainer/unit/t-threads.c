/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "place/threads.h"
#include "unit.h"

enum { MAX = 64, RUNS = 300 };

struct tally {
	int calls[MAX]; /* of each member; not atomic, so that a race is found */
	pthread_t thread[MAX];
	bool moved[MAX];
};

static bool count(void *argument, int index, struct train_error *error)
{
	struct tally *tally = argument;

	if (tally->calls[index]++ == 0)
		tally->thread[index] = pthread_self();
	else if (!pthread_equal(tally->thread[index], pthread_self()))
		tally->moved[index] = true;
	return true;
}

static struct threads *opened(int members)
{
	struct train_error error = {.status = TRAIN_OK};
	struct threads *threads = NULL;

	ck_assert_msg(threads_open(&threads, members, &error), "%d members: %s", members,
		      error.text);
	return threads;
}

static const int sizes[] = {1, 2, 3, 7, MAX};

START_TEST(all_do_it_on_their_own_threads)
{
	int members = sizes[_i];
	struct threads *threads = opened(members);
	struct train_error error = {.status = TRAIN_OK};
	struct tally tally = {.calls = {0}};

	for (int run = 1; run <= RUNS; run++) {
		ck_assert(threads_run(threads, count, NULL, &tally, &error));
		for (int i = 0; i < members; i++)
			ck_assert_msg(tally.calls[i] == run && !tally.moved[i],
				      "%d members, run %d: member %d has %d calls%s", members, run,
				      i, tally.calls[i], tally.moved[i] ? ", and moved" : "");
	}
	ck_assert(pthread_equal(tally.thread[0], pthread_self()));
	for (int i = 0; i < members; i++)
		for (int k = 0; k < i; k++)
			ck_assert_msg(!pthread_equal(tally.thread[i], tally.thread[k]),
				      "%d and %d are one thread", i, k);
	threads_close(threads);
}
END_TEST

/* A thread that fails wakes the threads that wait, and its error is reported. */
struct wait {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool woken;
	int failing, reported;
	pthread_t teller;
};

static bool fail_or_wait(void *argument, int index, struct train_error *error)
{
	struct wait *wait = argument;

	if (index == wait->failing)
		return train_fail(error, TRAIN_BAD_INPUT, "member %d is broken", index);
	pthread_mutex_lock(&wait->mutex);
	while (!wait->woken)
		pthread_cond_wait(&wait->changed, &wait->mutex);
	pthread_mutex_unlock(&wait->mutex);
	return train_fail(error, TRAIN_FAILED, "member %d was woken", index);
}

static void wake(void *argument, int index, const struct train_error *error)
{
	struct wait *wait = argument;

	ck_assert_int_ne(error->status, TRAIN_OK);
	pthread_mutex_lock(&wait->mutex);
	wait->woken = true;
	wait->reported = wait->reported == -1 ? index : -2;
	pthread_cond_broadcast(&wait->changed);
	pthread_mutex_unlock(&wait->mutex);
}

START_TEST(the_first_error_is_reported)
{
	struct threads *threads = opened(4);
	char text[40];

	for (int run = 0; run < RUNS; run++) {
		struct wait wait = {.mutex = PTHREAD_MUTEX_INITIALIZER,
				    .changed = PTHREAD_COND_INITIALIZER,
				    .failing = _i,
				    .reported = -1};
		struct train_error error = {.status = TRAIN_OK};

		ck_assert(!threads_run(threads, fail_or_wait, wake, &wait, &error));
		snprintf(text, sizeof(text), "member %d is broken", _i);
		ROW_EQ_STR(text, error.text, text);
		ROW_EQ_INT(text, error.status, TRAIN_BAD_INPUT);
		ROW_EQ_INT(text, wait.reported, _i);
	}
	threads_close(threads);
}
END_TEST

START_TEST(works_after_a_failure)
{
	struct threads *threads = opened(3);
	struct wait wait = {.mutex = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER,
			    .failing = 1,
			    .woken = true};
	struct train_error error = {.status = TRAIN_OK}, after = {.status = TRAIN_OK};
	struct tally tally = {.calls = {0}};

	ck_assert(!threads_run(threads, fail_or_wait, NULL, &wait, &error));
	ck_assert_int_ne(error.status, TRAIN_OK);
	ck_assert(threads_run(threads, count, NULL, &tally, &after));
	ck_assert_int_eq(after.status, TRAIN_OK);
	threads_close(threads);
}
END_TEST

static bool fail_silently(void *argument, int index, struct train_error *error)
{
	return index != *(int *)argument;
}

START_TEST(no_failure_without_a_reason)
{
	struct threads *threads = opened(2);

	for (int i = 0; i < 2; i++) {
		struct train_error error = {.status = TRAIN_OK};

		ck_assert(!threads_run(threads, fail_silently, NULL, &i, &error));
		ck_assert_int_eq(error.status, TRAIN_FAILED);
	}
	threads_close(threads);
}
END_TEST

/* Work after work without a pause, so that a thread that is late is found. */
static bool add(void *argument, int index, struct train_error *error)
{
	atomic_fetch_add((atomic_int *)argument, 1);
	return true;
}

START_TEST(many_runs)
{
	struct threads *threads = opened(4);
	struct train_error error = {.status = TRAIN_OK};
	atomic_int sum = 0;

	for (int run = 0; run < 5000; run++)
		ck_assert(threads_run(threads, add, NULL, &sum, &error));
	ck_assert_int_eq(sum, 4 * 5000);
	threads_close(threads);
}
END_TEST

static bool signals(void *argument, int index, struct train_error *error)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	((bool *)argument)[index] =
		sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGSEGV) == 0;
	return true;
}

START_TEST(signals_come_to_the_caller)
{
	struct threads *threads = opened(3);
	struct train_error error = {.status = TRAIN_OK};
	bool blocked[3] = {false};

	ck_assert(threads_run(threads, signals, NULL, blocked, &error));
	ck_assert(!blocked[0] && blocked[1] && blocked[2]);
	threads_close(threads);
}
END_TEST

/* Address space for a few stacks: some threads start, and are ended again. */
START_TEST(no_more_threads)
{
	struct rlimit limit;
	struct train_error error = {.status = TRAIN_OK};
	struct threads *threads = NULL;
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	ck_assert(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (64UL << 20);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert(!threads_open(&threads, MAX, &error));
	ck_assert_int_eq(error.status, TRAIN_FAILED);
	ck_assert_msg(strncmp(error.text, "cannot start thread ", 20) == 0 &&
			      strstr(error.text, "fewer devices"),
		      "%s", error.text);
	ck_assert_ptr_null(threads);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *tests = tcase_create("threads");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, all_do_it_on_their_own_threads, 0,
			    sizeof(sizes) / sizeof(*sizes));
	tcase_add_loop_test(tests, the_first_error_is_reported, 0, 4);
	tcase_add_test(tests, works_after_a_failure);
	tcase_add_test(tests, no_failure_without_a_reason);
	tcase_add_test(tests, many_runs);
	tcase_add_test(tests, signals_come_to_the_caller);
	/* Sanitizers map more than the limit allows. */
	if (!SANITIZED)
		tcase_add_test(tests, no_more_threads);
	return unit_run(suite);
}
