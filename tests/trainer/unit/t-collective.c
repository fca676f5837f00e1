/* SPDX-License-Identifier: MIT */
/* Collectives between threads, bit for bit, and the table of them. */
#include <stdio.h>

#include "rank-threads.h"

/* The thread sanitizer is slow. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { MAX = 5, TURNS = 3, MANY = 100003, MANY_BYTES = 100001 };
#else
enum { MAX = 5, TURNS = 20, MANY = 1000003, MANY_BYTES = 1500000 };
#endif

/* --- values ----------------------------------------------------------------------------- */

struct sums {
	int64_t count;
	int turns;
};

static void work_sum(struct member *m)
{
	const struct sums *sums = m->argument;

	m->good = ranks_sum(m->comm, sums->count, sums->turns, &m->error);
}

START_TEST(sums_are_in_rank_order)
{
	struct member members[MAX];

	for (int world = 1; world <= MAX; world++) {
		const struct sums rows[] = {
			{0, 3},         {1, TURNS},     {world - 1, TURNS},
			{world, TURNS}, {17, TURNS},    {1024, TURNS},
			{1025, TURNS},  {70001, TURNS}, {MANY, world == 4 ? TURNS : 2},
		};

		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			char name[32];

			snprintf(name, sizeof(name), "%lld values", (long long)rows[i].count);
			ranks_run(members, world, 60000, work_sum, &rows[i]);
			all_good(members, world, name);
		}
	}
}
END_TEST

static void work_copy(struct member *m)
{
	m->good = ranks_copy(m->comm, *(const size_t *)m->argument, &m->error);
}

static const size_t copies[] = {0, 1, 3, 4096, 4097, 70001, MANY_BYTES};

START_TEST(copies_arrive)
{
	struct member members[MAX];

	for (int world = 1; world <= MAX; world++)
		for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
			char name[32];

			snprintf(name, sizeof(name), "%zu bytes", copies[i]);
			ranks_run(members, world, 60000, work_copy, &copies[i]);
			all_good(members, world, name);
		}
}
END_TEST

static void work_exchange(struct member *m)
{
	m->good = ranks_exchange(m->comm, *(const size_t *)m->argument, &m->error);
}

START_TEST(both_send_first)
{
	struct member members[MAX];

	for (int world = 1; world <= MAX; world++)
		for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
			char name[32];

			snprintf(name, sizeof(name), "messages of %zu bytes", copies[i]);
			ranks_run(members, world, 60000, work_exchange, &copies[i]);
			all_good(members, world, name);
		}
}
END_TEST

static void work_ping(struct member *m)
{
	int64_t ball = 0;
	int other = 1 - m->rank;

	m->good = true;
	for (int turn = 0; m->good && turn < 3000; turn++) {
		if (turn % 2 == m->rank) {
			ball++;
			m->good = shm->send(m->comm, other, &ball, sizeof(ball), "ball", &m->error);
		} else {
			m->good = shm->receive(m->comm, other, &ball, sizeof(ball), "ball",
					       &m->error) &&
				  ball == turn + 1;
		}
	}
	m->good = m->good && m->comm->waited_ns > 0;
}

START_TEST(ping_pong)
{
	struct member members[2];

	ranks_run(members, 2, 60000, work_ping, NULL);
	all_good(members, 2, "ping-pong");
}
END_TEST

/* --- the table -------------------------------------------------------------------------- */

START_TEST(impossible_rendezvous)
{
	static char long_name[202];
	static const struct {
		const char *collective;
		struct rendezvous_options options;
		const char *want;
	} rows[] = {
		{"self", {.world = 2, .ranks = 2}, "it is for a world of one rank"},
		{"self", {.world = 1, .ranks = 0}, "it is for a world of one rank"},
		{"shm", {.world = 0, .ranks = 0}, "a world of 0 ranks: it takes 1 to 256"},
		{"shm", {.world = 257, .ranks = 257}, "a world of 257 ranks"},
		{"shm", {.world = 2, .ranks = 1}, "1 of 2 ranks in this process, no name"},
		{"shm", {.world = 3, .ranks = 2, .name = "x"}, "2 of 3 ranks in this process"},
		{"shm", {.world = 2, .ranks = 1, .name = ""}, "not 1 to 200 bytes"},
		{"shm", {.world = 2, .ranks = 1, .name = "../x"}, "has a slash"},
		{"shm", {.world = 2, .ranks = 1, .name = long_name}, "not 1 to 200 bytes"},
	};

	memset(long_name, 'n', 201);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct rendezvous *rendezvous = NULL;
		const struct collective *calls = collective_find(rows[i].collective, &error);

		ck_assert(calls && !calls->meet(&rendezvous, &rows[i].options, &error) &&
			  !rendezvous);
		ROW_EQ_INT(rows[i].want, error.status, TRAIN_BAD_INPUT);
		ck_assert_msg(strstr(error.text, rows[i].want), "%s: %s", rows[i].want, error.text);
	}
}
END_TEST

static bool copy_memory(struct device *device, void *to, const struct device *other,
			const void *from, size_t bytes, struct train_error *error)
{
	memcpy(to, from, bytes);
	return true;
}

START_TEST(world_of_one)
{
	static const char *const names[] = {"self", "shm"};
	const struct rendezvous_options options = {.world = 1, .ranks = 1};
	static const struct backend memory = {.copy = copy_memory};
	struct device device = {.backend = &memory};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct train_error error = {.status = TRAIN_OK};
		const struct collective *calls = collective_find(names[i], &error);
		struct communicator *comm = NULL;
		struct rendezvous *rendezvous;
		float x = 3, all = 0, values = 0;

		ck_assert(calls && calls->waits && calls->meet(&rendezvous, &options, &error));
		ck_assert(!calls->open(&comm, rendezvous, 1, NULL, &error));
		calls->leave(rendezvous);
		error.status = TRAIN_OK;
		ck_assert(calls->meet(&rendezvous, &options, &error) &&
			  calls->open(&comm, rendezvous, 0, &device, &error));
		ck_assert(comm->rank == 0 && comm->world == 1 && comm->calls == calls);
		ck_assert(calls->all_reduce(comm, &x, 1, "x", &error) && x == 3);
		ck_assert(calls->broadcast(comm, &x, sizeof(x), 0, "x", &error) && x == 3);
		ck_assert(calls->all_gather(comm, &x, &all, sizeof(x), "x", &error) && all == 3);
		ck_assert(calls->all_gather(comm, NULL, NULL, 0, "x", &error));
		ck_assert(calls->all_gather_values(comm, &x, &values, sizeof(x), "x", &error) &&
			  values == 3);
		calls->abort(comm, &(struct train_error){.status = TRAIN_FAILED, .text = "enough"});
		calls->close(comm);
		calls->leave(rendezvous);
	}
}
END_TEST

START_TEST(found_by_name)
{
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(collective_find("shm", &error) == shm);
	ck_assert(collective_find("self", &error) == &collective_self);
	ck_assert(!collective_find("nccl2", &error));
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
	ck_assert_msg(strstr(error.text, "collective 'nccl2': "), "%s", error.text);
}
END_TEST

START_TEST(found_by_auto)
{
	static const struct {
		const char *name;
		struct rendezvous_options options;
		bool simulated;
		const char *want;
	} rows[] = {
		{"one rank", {.world = 1, .ranks = 1, .local = 1}, true, "self"},
		{"one rank on a GPU", {.world = 1, .ranks = 1}, false, "self"},
		{"threads", {.world = 4, .ranks = 4, .local = 4}, true, "shm"},
		{"threads on GPUs", {.world = 4, .ranks = 4, .local = 4}, false, "peer"},
		{"processes", {.world = 4, .ranks = 1, .local = 4}, true, "shm"},
		{"processes on GPUs", {.world = 4, .ranks = 1, .local = 4}, false, "nccl"},
		{"two machines", {.world = 4, .ranks = 1, .local = 2}, true, "mpi"},
		{"two machines with GPUs", {.world = 4, .ranks = 1, .local = 2}, false, "nccl"},
		{"an unknown number here", {.world = 4, .ranks = 1}, true, "mpi"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ROW_EQ_STR(rows[i].name, collective_auto(&rows[i].options, rows[i].simulated),
			   rows[i].want);
}
END_TEST

START_TEST(chosen_if_it_fits)
{
	static const struct {
		const char *name, *backend;
		bool simulated;
		const char *want, *error;
	} rows[] = {
		{"auto", "cpu", true, "shm", NULL},
		{"auto", "cuda", false, "peer", NULL},
		{"shm", "cuda", false, NULL,
		 "--collective shm: it reads memory of the host, and GPUs have their own; "},
		{"peer", "onednn", true, "peer", NULL},
		{"shn", "cpu", true, NULL, "collective 'shn': "},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rendezvous_options options = {.world = 2, .ranks = 2, .local = 2};
		struct train_error error = {.status = TRAIN_OK};
		const struct collective *got = collective_choose(
			rows[i].name, &options, rows[i].backend, rows[i].simulated, &error);

		ROW_EQ_STR(rows[i].name, got ? got->name : "", rows[i].want ? rows[i].want : "");
		ck_assert_msg(!rows[i].error || strstr(error.text, rows[i].error), "%s: %s",
			      rows[i].name, error.text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collective");
	TCase *values = tcase_create("values"), *table = tcase_create("table");

	tcase_add_test(values, sums_are_in_rank_order);
	tcase_add_test(values, copies_arrive);
	tcase_add_test(values, both_send_first);
	tcase_add_test(values, ping_pong);
	suite_add_tcase(suite, values);
	tcase_add_test(table, impossible_rendezvous);
	tcase_add_test(table, world_of_one);
	tcase_add_test(table, found_by_name);
	tcase_add_test(table, found_by_auto);
	tcase_add_test(table, chosen_if_it_fits);
	suite_add_tcase(suite, table);
	return unit_run(suite);
}
