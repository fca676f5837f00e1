/* SPDX-License-Identifier: MIT */
/*
 * ranks-main COLLECTIVE NAME RANK WORLD TIMEOUT_MS WORK: a rank as a process.
 *
 *	values	all calls, with every value looked at
 *	open	opens and closes
 *	loop	sums for ever; prints "ready" after some sums
 *	ring	sends and receives for ever
 *	other	rank 1 is in another call than the others
 *	abort	rank 1 aborts after some sums
 *	beside	rank 1 aborts while another thread of it waits for rank 0
 *	absent	rank 1 never opens
 *	late	rank 1 never comes
 *	stuck	rank 1 never sends to rank 2, for which rank 0 waits
 *	device	waits for its device for ever
 *	away	waits for its device, but for rank 1, which does something else
 *	large	messages of more than MPI counts: two ranks, 7 GiB of memory each
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "ranks.h"

/* Longer than all limits of time: the others end the run. */
enum { FOR_EVER = 600 };

struct work {
	const char *name;
	bool (*run)(struct communicator *comm, struct train_error *error);
};

/* From rank 0 to rank 1 and another one back. */
static bool one_message(struct communicator *comm, size_t bytes, struct train_error *error)
{
	unsigned char *values = malloc(bytes);
	int other = 1 - comm->rank;
	bool good = values != NULL;

	for (int turn = 0; good && turn < 2; turn++) {
		if (turn == comm->rank) {
			ranks_bytes_set(values, bytes, comm->rank, turn);
			good = comm->calls->send(comm, other, values, bytes, "forward", error);
		} else {
			good = ranks_get(comm, other, values, bytes, "forward", turn, error);
		}
	}
	free(values);
	return good;
}

static bool work_values(struct communicator *comm, struct train_error *error)
{
	static const int64_t counts[] = {0, 1, 2, 3, 1024, 1025, 65536, 131072, 131073, 1000003};
	static const size_t sizes[] = {0, 1, 4096, 4097, 262144, 1500000};
	bool good = true;

	for (size_t i = 0; good && i < sizeof(counts) / sizeof(*counts); i++)
		good = ranks_sum(comm, counts[i], 3, error);
	for (size_t i = 0; good && i < sizeof(sizes) / sizeof(*sizes); i++)
		good = ranks_copy(comm, sizes[i], error) &&
		       (comm->world == 1 || ranks_exchange(comm, sizes[i], error)) &&
		       ranks_sum(comm, (int64_t)sizes[i], 1, error);
	if (good && comm->world == 2) /* of several parts */
		good = one_message(comm, 33554437, error);
	return good;
}

static bool work_open(struct communicator *comm, struct train_error *error)
{
	return true;
}

static void ready(int turn)
{
	if (turn == 5) {
		puts("ready");
		fflush(stdout);
	}
}

static bool work_loop(struct communicator *comm, struct train_error *error)
{
	static float values[300000];

	for (int turn = 0;; turn++) {
		if (!comm->calls->all_reduce(comm, values, turn % 2 ? 100 : 300000,
					     "gradients, bucket 0", error))
			return false;
		ready(turn);
	}
}

static bool work_ring(struct communicator *comm, struct train_error *error)
{
	for (int turn = 0; ranks_exchange(comm, 100000, error); turn++)
		ready(turn);
	return false;
}

static bool work_other(struct communicator *comm, struct train_error *error)
{
	float values[2] = {0};

	return comm->rank == 1 ? comm->calls->broadcast(comm, values, 8, 0, "parameters", error)
			       : comm->calls->all_reduce(comm, values, 2, "gradients", error);
}

static bool work_abort(struct communicator *comm, struct train_error *error)
{
	static float values[300000];

	for (int turn = 0; turn < 10; turn++)
		if (!comm->calls->all_reduce(comm, values, 300000, "gradients", error))
			return false;
	if (comm->rank != 1)
		return comm->calls->all_gather(comm, NULL, NULL, 0, "the end", error);
	fputs("the cat came\n", stderr);
	comm->calls->abort(
		comm, &(struct train_error){.status = TRAIN_BAD_INPUT, .text = "the cat came"});
	return false;
}

static void *wait_for_all(void *argument)
{
	struct communicator *comm = argument;
	struct train_error error = {.status = TRAIN_OK};

	comm->calls->all_gather(comm, NULL, NULL, 0, "the end", &error);
	return NULL;
}

static bool work_beside(struct communicator *comm, struct train_error *error)
{
	pthread_t thread;

	if (comm->rank == 1 && pthread_create(&thread, NULL, wait_for_all, comm) == 0) {
		usleep(200000);
		fputs("the dog came\n", stderr);
		comm->calls->abort(comm, &(struct train_error){.status = TRAIN_BAD_INPUT,
							       .text = "the dog came"});
		pthread_join(thread, NULL);
		return false;
	}
	sleep(FOR_EVER);
	return train_fail(error, TRAIN_FAILED, "no rank ended the run");
}

static bool work_late(struct communicator *comm, struct train_error *error)
{
	if (comm->rank == 1)
		sleep(FOR_EVER);
	return comm->calls->all_gather(comm, NULL, NULL, 0, "the end", error);
}

/* Rank 2 waits for rank 1, which never comes, and rank 0 waits for both. */
static bool work_stuck(struct communicator *comm, struct train_error *error)
{
	char mark = 0;

	if (comm->rank == 1)
		sleep(FOR_EVER);
	if (comm->rank == 2)
		return comm->calls->receive(comm, 1, &mark, 1, "marks", error);
	return comm->calls->all_gather(comm, NULL, NULL, 0, "the end", error);
}

static bool work_large(struct communicator *comm, struct train_error *error)
{
	return one_message(comm, ((size_t)1 << 31) + 5, error);
}

static bool work_device(struct communicator *comm, struct train_error *error)
{
	int64_t waited = 0;

	for (int turn = 0; comm->calls->check(comm, "its device", waited, error); turn++) {
		usleep(1000);
		waited += 1000000;
		ready(turn);
	}
	return false;
}

static bool work_away(struct communicator *comm, struct train_error *error)
{
	if (comm->rank == 1)
		sleep(FOR_EVER);
	return work_device(comm, error);
}

static const struct work works[] = {
	{"values", work_values}, {"open", work_open},     {"loop", work_loop},
	{"ring", work_ring},     {"other", work_other},   {"abort", work_abort},
	{"late", work_late},     {"beside", work_beside}, {"stuck", work_stuck},
	{"device", work_device}, {"away", work_away},     {"large", work_large},
	{"absent", work_open},
};

static bool run(const struct collective *calls, char **argv, struct train_error *error)
{
	const struct rendezvous_options options = {.world = atoi(argv[4]),
						   .ranks = 1,
						   .rank = atoi(argv[3]),
						   .name = argv[2],
						   .timeout_ms = atoi(argv[5])};
	struct communicator *comm = NULL;
	struct rendezvous *rendezvous = NULL;
	bool good = false;

	if (!calls->meet(&rendezvous, &options, error))
		return false;
	if (strcmp(argv[6], "absent") == 0 && atoi(argv[3]) == 1)
		sleep(FOR_EVER);
	if (calls->open(&comm, rendezvous, atoi(argv[3]), NULL, error)) {
		for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
			if (strcmp(works[i].name, argv[6]) == 0)
				good = works[i].run(comm, error);
		calls->close(comm);
	}
	calls->leave(rendezvous);
	return good;
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct collective *calls;

	if (argc != 7)
		return fputs("ranks-main COLLECTIVE NAME RANK WORLD TIMEOUT_MS WORK\n", stderr), 2;
	calls = collective_find(argv[1], &error);
	if (calls && run(calls, argv, &error)) {
		printf("rank %s: good\n", argv[3]);
		return 0;
	}
	fprintf(stderr, "%s\n", error.text[0] ? error.text : "values are wrong");
	return error.status == TRAIN_OK ? 1 : (int)error.status;
}
