/* SPDX-License-Identifier: MIT */
/* The reasons that ranks get if one of them fails, is late, or does something else. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "collective/shm_control_block.h"
#include "rank-threads.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(int ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void work_abort(struct member *m)
{
	float *values = calloc(50000, sizeof(*values));

	for (int turn = 0; shm->all_reduce(m->comm, values, 50000, "gradients", &m->error);)
		if (m->rank == 1 && ++turn == 10)
			shm->abort(m->comm, &(struct train_error){.status = TRAIN_FAILED,
								  .text = "no more\nmemory"});
	free(values);
}

START_TEST(abort_ends_all)
{
	struct member members[4];

	for (int turn = 0; turn < 50; turn++) {
		ranks_run(members, 4, 0, work_abort, NULL);
		all_say(members, 4, "abort", "rank 1: no more\\x0amemory");
	}
}
END_TEST

static void work_abort_receiver(struct member *m)
{
	if (m->rank == 2)
		shm->abort(m->comm, &(struct train_error){.status = TRAIN_FAILED, .text = "tired"});
	else
		shm->receive(m->comm, 2, NULL, 0, "nothing", &m->error);
	shm->all_gather(m->comm, NULL, NULL, 0, "barrier", &m->error);
}

START_TEST(abort_wakes_receivers)
{
	struct member members[3];

	ranks_run(members, 3, 0, work_abort_receiver, NULL);
	all_say(members, 3, "abort", "rank 2: tired");
}
END_TEST

static float numbers[4][3000];

static void other_sum(struct member *m)
{
	shm->all_reduce(m->comm, numbers[m->rank], 3000, "gradients", &m->error);
}

static void other_call(struct member *m)
{
	if (m->rank == 2)
		shm->broadcast(m->comm, numbers[2], 12000, 0, "parameters", &m->error);
	else
		other_sum(m);
}

static void other_name(struct member *m)
{
	const char *what = m->rank == 3 ? "gradients, bucket 1" : "gradients, bucket 0";

	shm->all_reduce(m->comm, numbers[m->rank], 3000, what, &m->error);
}

static void other_size(struct member *m)
{
	shm->all_reduce(m->comm, numbers[m->rank], m->rank == 1 ? 10 : 3000, "gradients",
			&m->error);
}

static void other_root(struct member *m)
{
	shm->broadcast(m->comm, numbers[m->rank], 100, m->rank == 3, "parameters", &m->error);
}

static void other_end(struct member *m)
{
	if (m->rank != 3)
		other_sum(m);
	else
		snprintf(m->error.text, sizeof(m->error.text), "-");
}

static void other_message(struct member *m)
{
	if (m->rank == 0)
		shm->send(m->comm, 1, numbers[0], 8, "activations", &m->error);
	if (m->rank == 1)
		shm->receive(m->comm, 0, numbers[1], 12, "activations", &m->error);
	else
		shm->receive(m->comm, 1, numbers[m->rank], 8, "gradients", &m->error);
}

START_TEST(who_does_something_else_is_named)
{
	static const struct {
		const char *name;
		void (*work)(struct member *);
		const char *want;
	} rows[] = {
		{"call", other_call,
		 "rank 2 is in broadcast of parameters while rank 0 is in all-reduce of "
		 "gradients"},
		{"name", other_name,
		 "rank 3 is in all-reduce of gradients, bucket 1 while rank 0 is in all-reduce of "
		 "gradients, bucket 0"},
		{"size", other_size,
		 "rank 1 has 40 bytes in all-reduce of gradients and rank 0 has 12000"},
		{"root", other_root,
		 "rank 3 takes rank 1 for the root of broadcast of parameters, rank 0 rank 0"},
		{"message", other_message,
		 "rank 1 waits for 12 bytes of activations, and rank 0 sent 8 bytes of "
		 "activations"},
	};
	struct member members[4];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ranks_run(members, 4, 60000, rows[i].work, NULL);
		all_say(members, 4, rows[i].name, rows[i].want);
	}
}
END_TEST

START_TEST(who_ends_is_named)
{
	struct member members[4];

	ranks_run(members, 4, 60000, other_end, NULL);
	for (int r = 0; r < 3; r++)
		ck_assert_msg(strstr(members[r].error.text, "rank 3 has ended while rank ") &&
				      strstr(members[r].error.text,
					     " waits for it in all-reduce of gradients"),
			      "%s", members[r].error.text);
}
END_TEST

/* Time limits in ms, tried in turn: on a busy machine ranks that do come may miss a short one. */
static const int limits[] = {200, 2000, 20000};
enum { LIMITS = sizeof(limits) / sizeof(*limits) };
static int late_ms;

static void work_late(struct member *m)
{
	if (m->rank == 2)
		nap(late_ms);
	shm->all_reduce(m->comm, numbers[m->rank], 3000, "gradients", &m->error);
}

static void work_crossed(struct member *m)
{
	if (m->rank == 0)
		shm->receive(m->comm, 1, NULL, 0, "news", &m->error);
	else
		shm->all_gather(m->comm, NULL, NULL, 0, "barrier", &m->error);
}

/* Whether rank 0 says so; LIMIT in `want` stands for the limit, which it has in `text`. */
static bool says(const struct member *members, const char *want, int limit, char text[256])
{
	const char *at = strstr(want, "LIMIT");

	if (at)
		snprintf(text, 256, "%.*s%d%s", (int)(at - want), want, limit,
			 at + strlen("LIMIT"));
	else
		snprintf(text, 256, "%s", want);
	return strstr(members[0].error.text, text) != NULL;
}

START_TEST(time_limit_names_who_is_late)
{
	struct member members[3];
	char text[256], other[256];
	int i = 0;

	do {
		late_ms = 3 * limits[i];
		ranks_run(members, 3, limits[i], work_late, NULL);
	} while (
		!says(members,
		      "rank 2 did not come within LIMIT ms to all-reduce of gradients, where rank ",
		      limits[i], text) &&
		++i < LIMITS);
	for (int r = 0; r < 3; r++)
		ck_assert_msg(strstr(members[r].error.text, text), "%s", members[r].error.text);
	i = 0;
	do
		ranks_run(members, 2, limits[i], work_crossed, NULL);
	while (!says(members,
		     "rank 0, in receive did not come within LIMIT ms to all-gather of barrier",
		     limits[i], text) &&
	       !says(members,
		     "rank 1, in all-gather did not come within LIMIT ms to receive of news",
		     limits[i], other) &&
	       ++i < LIMITS);
	ck_assert_msg(i < LIMITS, "%s", members[0].error.text);
	ROW_EQ_STR("both", members[0].error.text, members[1].error.text);
	late_ms = 600;
	ranks_run(members, 3, 60000, work_late, NULL);
	all_say(members, 3, "in time", "");
}
END_TEST

/* As if its device were busy for ever. */
static void wait_for_device(struct member *m)
{
	double start = seconds();

	while (shm->check(m->comm, "a kernel", (int64_t)((seconds() - start) * 1e9), &m->error))
		nap(1);
}

static void device_abort(struct member *m)
{
	if (m->rank != 1)
		wait_for_device(m);
	else
		shm->abort(m->comm, &(struct train_error){.status = TRAIN_FAILED, .text = "tired"});
	shm->check(m->comm, "a kernel", 0, &m->error);
}

static void device_idle(struct member *m)
{
	if (m->rank != 2)
		wait_for_device(m);
	else
		nap(late_ms);
	shm->check(m->comm, "a kernel", 0, &m->error);
}

/* A rank that waits for a device reports a long wait, before the limit of the call is over. */
static void device_call(struct member *m)
{
	if (m->rank == 2) {
		other_sum(m);
		return;
	}
	for (int turn = 0; turn < 200 && shm->check(m->comm, "a kernel", 0, &m->error); turn++)
		nap(1);
	shm->check(m->comm, "a kernel", (int64_t)3600e9, &m->error);
}

START_TEST(a_rank_that_waits_for_its_device_is_notified)
{
	static const struct {
		const char *name;
		int limit; /* in ms; -1: a limit that this machine keeps */
		void (*work)(struct member *);
		const char *want;
	} rows[] = {
		{"abort", 0, device_abort, "rank 1: tired"},
		{"idle", -1, device_idle,
		 "rank 2 did not come within LIMIT ms to a kernel, where rank "},
		{"call", 600000, device_call,
		 "rank 2, in all-reduce did not come within LIMIT ms to a kernel, where rank "},
		{"all wait", -1, wait_for_device,
		 "a kernel was not done within LIMIT ms, and all ranks wait for their devices: "
		 "look "},
	};
	struct member members[3];
	char text[256];

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		for (int i = 0; i < LIMITS; i++) {
			int limit = rows[row].limit < 0 ? limits[i] : rows[row].limit;

			late_ms = 3 * limit;
			ranks_run(members, 3, limit, rows[row].work, NULL);
			if (says(members, rows[row].want, limit, text))
				break;
		}
		for (int r = 0; r < 3; r++)
			ck_assert_msg(strncmp(members[r].error.text, text, strlen(text)) == 0,
				      "%s, rank %d: %s", rows[row].name, r, members[r].error.text);
	}
}
END_TEST

static void work_wait(struct member *m)
{
	int64_t max = (int64_t)late_ms * 1000000 * 2 / 3;

	work_late(m);
	m->good = m->rank == 2 ? m->comm->waited_ns < max : m->comm->waited_ns > max;
}

START_TEST(time_is_counted)
{
	struct member members[3];

	for (int i = 0; i < LIMITS; i++) {
		late_ms = 3 * limits[i];
		ranks_run(members, 3, 0, work_wait, NULL);
		if (members[0].good && members[1].good && members[2].good)
			break;
	}
	all_good(members, 3, "waited_ns");
}
END_TEST

static int spins_of(int world)
{
	const struct rendezvous_options options = {.world = world, .ranks = world};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous;
	int spins;

	ck_assert_msg(shm->meet(&rendezvous, &options, &error), "%s", error.text);
	spins = rendezvous->spins;
	shm->leave(rendezvous);
	return spins;
}

START_TEST(cores_of_the_process_count)
{
	cpu_set_t all, one;
	int first = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(spins_of(2), 0);
	ck_assert_int_gt(spins_of(1), 0);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	ck_assert_int_eq(spins_of(2) > 0, CPU_COUNT(&all) >= 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collective-faults");
	TCase *faults = tcase_create("faults");

	tcase_add_test(faults, abort_ends_all);
	tcase_add_test(faults, abort_wakes_receivers);
	tcase_add_test(faults, who_does_something_else_is_named);
	tcase_add_test(faults, who_ends_is_named);
	tcase_add_test(faults, time_limit_names_who_is_late);
	tcase_add_test(faults, a_rank_that_waits_for_its_device_is_notified);
	tcase_add_test(faults, time_is_counted);
	tcase_add_test(faults, cores_of_the_process_count);
	suite_add_tcase(suite, faults);
	return unit_run(suite);
}
