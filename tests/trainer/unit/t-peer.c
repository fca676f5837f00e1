/* SPDX-License-Identifier: MIT */
/* Copies between the devices of threads: the same checks as of shared memory, with devices. */
#include <pthread.h>

#include "ranks.h"
#include "unit.h"

enum { MAX = 5 };

struct member {
	pthread_t thread;
	struct rendezvous *rendezvous;
	int rank;
	bool (*work)(struct member *member);
	int64_t size;
	struct communicator *comm;
	struct train_error error;
	bool good;
};

static void *member_run(void *argument)
{
	const struct device_options options = {.threads = 1};
	struct member *m = argument;
	struct device *device;

	if (!backend_reference.open(&device, &options, &m->error))
		return NULL;
	if (collective_peer.open(&m->comm, m->rendezvous, m->rank, device, &m->error)) {
		m->good = m->work(m);
		if (!m->good)
			collective_peer.abort(m->comm, &m->error);
		collective_peer.close(m->comm);
	}
	if (device->bytes != 0)
		m->good = train_fail(&m->error, TRAIN_FAILED, "%zu bytes are left", device->bytes);
	backend_reference.close(device);
	return NULL;
}

static void run_ranks(struct member *members, int world, bool (*work)(struct member *),
		      int64_t size)
{
	const struct rendezvous_options options = {
		.world = world, .ranks = world, .timeout_ms = 200000};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous = NULL;

	ck_assert_msg(collective_peer.meet(&rendezvous, &options, &error), "%s", error.text);
	for (int r = 0; r < world; r++) {
		members[r] = (struct member){
			.rendezvous = rendezvous, .rank = r, .work = work, .size = size};
		ck_assert(pthread_create(&members[r].thread, NULL, member_run, &members[r]) == 0);
	}
	for (int r = 0; r < world; r++)
		pthread_join(members[r].thread, NULL);
	collective_peer.leave(rendezvous);
}

static bool sum(struct member *m)
{
	return ranks_sum(m->comm, m->size, 5, &m->error);
}

static bool copy(struct member *m)
{
	return ranks_copy(m->comm, (size_t)m->size, &m->error);
}

static bool exchange(struct member *m)
{
	return ranks_exchange(m->comm, (size_t)m->size, &m->error);
}

static const struct {
	const char *name;
	bool (*work)(struct member *);
} works[] = {{"sums", sum}, {"copies", copy}, {"messages", exchange}};
enum { WORKS = sizeof(works) / sizeof(*works) };

START_TEST(values_arrive)
{
	static const int64_t sizes[] = {0, 1, 3, 4, 17, 4097, 70001};
	struct member members[MAX];

	for (int world = 1; world <= MAX; world++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			run_ranks(members, world, works[_i].work, sizes[i]);
			for (int r = 0; r < world; r++)
				ck_assert_msg(members[r].good, "%s of %d, rank %d of %d: %s",
					      works[_i].name, (int)sizes[i], r, world,
					      members[r].error.text);
		}
}
END_TEST

/* Rank 1 fails when others are in the middle of a sum. */
static bool one_fails(struct member *m)
{
	float values[8] = {1};

	for (int turn = 0; turn < 4; turn++) {
		if (m->rank == 1 && turn == 2)
			return train_fail(&m->error, TRAIN_FAILED, "rank 1 has no more");
		if (!m->comm->calls->all_reduce(m->comm, values, 8, "values", &m->error))
			return false;
	}
	return true;
}

START_TEST(a_waiting_rank_is_notified)
{
	struct member members[3];

	run_ranks(members, 3, one_fails, 0);
	for (int r = 0; r < 3; r++) {
		ck_assert_msg(!members[r].good, "rank %d", r);
		ck_assert_msg(strstr(members[r].error.text, "rank 1 has no more"), "rank %d: %s", r,
			      members[r].error.text);
	}
}
END_TEST

static bool unlike(struct member *m)
{
	char values[64] = {0};

	return m->rank == 0 ? m->comm->calls->send(m->comm, 1, values, 64, "values", &m->error)
			    : m->comm->calls->receive(m->comm, 0, values, 32, "values", &m->error);
}

START_TEST(sizes_are_compared)
{
	struct member members[2];

	run_ranks(members, 2, unlike, 0);
	ck_assert_str_eq(members[1].error.text,
			 "values: rank 0 sent 64 bytes, and rank 1 wants 32");
}
END_TEST

START_TEST(processes_are_refused)
{
	const struct rendezvous_options options = {.world = 2, .ranks = 1, .name = "x"};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous;

	ck_assert(!collective_peer.meet(&rendezvous, &options, &error));
	ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
	ck_assert_msg(strstr(error.text, "use nccl"), "%s", error.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("peer");
	TCase *tests = tcase_create("peer");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, values_arrive, 0, WORKS);
	tcase_add_test(tests, a_waiting_rank_is_notified);
	tcase_add_test(tests, sizes_are_compared);
	tcase_add_test(tests, processes_are_refused);
	return unit_run(suite);
}
