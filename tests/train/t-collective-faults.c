/* SPDX-License-Identifier: MIT */
/* What ranks hear when one of them fails, is late, or does something else. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "collective/shm_board.h"
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

static void no_root(struct member *m)
{
	shm->broadcast(m->comm, numbers[m->rank], 100, 4, "parameters", &m->error);
}

static void other_end(struct member *m)
{
	if (m->rank != 3)
		other_sum(m);
	else
		snprintf(m->error.text, sizeof(m->error.text), "-");
}

static void negative(struct member *m)
{
	if (m->rank == 0)
		shm->all_reduce(m->comm, numbers[0], -1, "gradients", &m->error);
	else
		other_sum(m);
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
		{"negative", negative, "rank 0: all-reduce of gradients: -1 values"},
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

START_TEST(ends_and_ranks_that_are_not)
{
	struct member members[4];

	ranks_run(members, 4, 60000, other_end, NULL);
	for (int r = 0; r < 3; r++)
		ck_assert_msg(strstr(members[r].error.text, "rank 3 has ended while rank ") &&
				      strstr(members[r].error.text,
					     " waits for it in all-reduce of gradients"),
			      "%s", members[r].error.text);
	ranks_run(members, 4, 60000, no_root, NULL);
	for (int r = 0; r < 4; r++)
		ck_assert_msg(strstr(members[r].error.text,
				     ": broadcast of parameters: there is no "
				     "rank 4, the world has 4"),
			      "%s", members[r].error.text);
}
END_TEST

static void work_late(struct member *m)
{
	if (m->rank == 2)
		nap(600);
	shm->all_reduce(m->comm, numbers[m->rank], 3000, "gradients", &m->error);
}

static void work_crossed(struct member *m)
{
	if (m->rank == 0)
		shm->receive(m->comm, 1, NULL, 0, "news", &m->error);
	else
		shm->all_gather(m->comm, NULL, NULL, 0, "barrier", &m->error);
}

START_TEST(time_limit_names_who_is_late)
{
	struct member members[3];
	double start = seconds();

	ranks_run(members, 3, 200, work_late, NULL);
	ck_assert_msg(seconds() - start < 3, "%g s", seconds() - start);
	for (int r = 0; r < 3; r++)
		ck_assert_msg(strstr(members[r].error.text, "rank 2 did not come within 200 ms to "
							    "all-reduce of gradients, where rank "),
			      "%s", members[r].error.text);
	ranks_run(members, 2, 200, work_crossed, NULL);
	ck_assert_msg(strstr(members[0].error.text, "rank 0, in receive did not come within 200 ms "
						    "to all-gather of barrier") ||
			      strstr(members[0].error.text,
				     "rank 1, in all-gather did not come within 200 ms to receive "
				     "of news"),
		      "%s", members[0].error.text);
	ROW_EQ_STR("both", members[0].error.text, members[1].error.text);
	ranks_run(members, 3, 5000, work_late, NULL);
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
		nap(600);
	shm->check(m->comm, "a kernel", 0, &m->error);
}

/* What waits for a device says that it took long, before the limit of the call is over. */
static void device_call(struct member *m)
{
	if (m->rank == 2) {
		other_sum(m);
		return;
	}
	for (int turn = 0; turn < 200 && shm->check(m->comm, "a kernel", 0, &m->error); turn++)
		nap(1);
	shm->check(m->comm, "a kernel", (int64_t)60e9, &m->error);
}

START_TEST(who_waits_for_its_device_hears)
{
	static const struct {
		const char *name;
		int timeout_ms;
		void (*work)(struct member *);
		const char *want;
	} rows[] = {
		{"abort", 0, device_abort, "rank 1: tired"},
		{"idle", 200, device_idle,
		 "rank 2 did not come within 200 ms to a kernel, where rank "},
		{"call", 5000, device_call,
		 "rank 2, in all-reduce did not come within 5000 ms to a kernel, where rank "},
		{"all wait", 200, wait_for_device,
		 "a kernel was not done within 200 ms, and all ranks wait for their devices: "
		 "look "},
	};
	struct member members[3];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ranks_run(members, 3, rows[i].timeout_ms, rows[i].work, NULL);
		for (int r = 0; r < 3; r++)
			ck_assert_msg(strncmp(members[r].error.text, rows[i].want,
					      strlen(rows[i].want)) == 0,
				      "%s, rank %d: %s", rows[i].name, r, members[r].error.text);
	}
}
END_TEST

static void work_wait(struct member *m)
{
	work_late(m);
	m->good = m->rank == 2 ? m->comm->waited_ns < 400000000 : m->comm->waited_ns > 400000000;
}

START_TEST(time_is_counted)
{
	struct member members[3];

	ranks_run(members, 3, 0, work_wait, NULL);
	all_good(members, 3, "waited_ns");
}
END_TEST

static int spins_of(int world)
{
	const struct meeting_options options = {.world = world, .ranks = world};
	struct train_error error = {.status = TRAIN_OK};
	struct meeting *meeting;
	int spins;

	ck_assert_msg(shm->meet(&meeting, &options, &error), "%s", error.text);
	spins = meeting->spins;
	shm->part(meeting);
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

	tcase_set_timeout(faults, 60);
	tcase_add_test(faults, abort_ends_all);
	tcase_add_test(faults, abort_wakes_receivers);
	tcase_add_test(faults, who_does_something_else_is_named);
	tcase_add_test(faults, ends_and_ranks_that_are_not);
	tcase_add_test(faults, time_limit_names_who_is_late);
	tcase_add_test(faults, who_waits_for_its_device_hears);
	tcase_add_test(faults, time_is_counted);
	tcase_add_test(faults, cores_of_the_process_count);
	suite_add_tcase(suite, faults);
	return unit_run(suite);
}
