/* SPDX-License-Identifier: MIT */
/*
 * collective [-r RUNS] [-s BYTES] NAME [RANKS [processes]]: measures a sum of gradients between
 * RANKS ranks, for 1 KiB to BYTES (64 MiB). NAME is shm (2 ranks, as threads or as processes), mpi
 * (the ranks that mpirun started), nccl or peer (GPUs 0, 1, ..., a thread each; 1 rank).
 *
 * Prints microseconds per call of several calls in a row, from the first rank's start to the last
 * rank's end, all on one machine; and "memory", the bound by memory: a copy by all ranks at once,
 * which reads and writes each value once. "bus" is what a ring sends over each link, 2 (RANKS - 1)
 * / RANKS of the values, in GB/s. Times are medians of RUNS (15). The first sum of each size is
 * checked.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/sums.h"

enum { LIMIT_MS = 60000 };

static bool meet(struct sums *b, int ranks, int rank, struct train_error *error)
{
	const struct rendezvous_options options = {
		.world = b->world,
		.ranks = ranks,
		.rank = rank,
		.local = b->world,
		.name = ranks == b->world ? NULL : b->name,
		.timeout_ms = LIMIT_MS,
	};

	return b->calls->meet(&b->rendezvous, &options, error);
}

static bool print_failure(const struct sums_rank *r)
{
	if (!r->good)
		fprintf(stderr, "collective: rank %d: %s\n", r->rank, r->error.text);
	return r->good;
}

static void part(struct sums *b)
{
	if (b->rendezvous)
		b->calls->leave(b->rendezvous);
}

static void *rank_main(void *rank)
{
	sums_measure(rank);
	return NULL;
}

/* All ranks are threads of this process. */
static bool run_threads(struct sums *b, struct train_error *error)
{
	static struct sums_rank ranks[SUMS_MAX_RANKS];
	pthread_t threads[SUMS_MAX_RANKS];
	bool good = true;

	if (!meet(b, b->world, 0, error))
		return false;
	for (int i = 0; i < b->world; i++) {
		ranks[i] = (struct sums_rank){.bench = b, .rank = i};
		if (pthread_create(&threads[i], NULL, rank_main, &ranks[i]) != 0)
			return train_fail(error, TRAIN_FAILED, "cannot start the thread of rank %d",
					  i);
	}
	for (int i = 0; i < b->world; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < b->world; i++)
		good = print_failure(&ranks[i]) && good;
	part(b);
	if (good)
		sums_print(&ranks[0]);
	return good || train_fail(error, TRAIN_FAILED, "a rank failed");
}

/* This process is one of the ranks. */
static bool run_rank(struct sums *b, int rank, struct train_error *error)
{
	static struct sums_rank self;

	self = (struct sums_rank){.bench = b, .rank = rank};
	if (!meet(b, 1, rank, error))
		return false;
	sums_measure(&self);
	part(b);
	if (print_failure(&self) && rank == 0)
		sums_print(&self);
	return self.good || train_fail(error, TRAIN_FAILED, "a rank failed");
}

/* The other ranks are child processes. */
static bool run_processes(struct sums *b, struct train_error *error)
{
	bool good;
	int status;

	for (int rank = 1; rank < b->world; rank++) {
		pid_t child = fork();

		if (child < 0)
			return train_fail(error, TRAIN_FAILED, "no process can be started");
		if (child == 0)
			_exit(run_rank(b, rank, error) ? 0 : 1);
	}
	good = run_rank(b, 0, error);
	while (wait(&status) > 0)
		good = good && status == 0;
	return good || train_fail(error, TRAIN_FAILED, "a rank failed");
}

/* 0: the variable is not set. */
static int of_environment(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static bool run(struct sums *b, struct train_error *error)
{
	if (b->world < 1 || b->world > SUMS_MAX_RANKS)
		return train_fail(error, TRAIN_BAD_INPUT, "%s: 1 to %d ranks%s", b->calls->name,
				  SUMS_MAX_RANKS, b->calls->name[0] == 'm' ? ", by mpirun -n" : "");
	if (strcmp(b->calls->name, "mpi") == 0)
		return run_rank(b, of_environment("OMPI_COMM_WORLD_RANK"), error);
	return b->processes ? run_processes(b, error) : run_threads(b, error);
}

static bool find(struct sums *b, const char *name, struct train_error *error)
{
	b->calls = collective_find(name, error);
	if (!b->calls)
		return false;
	if (strcmp(name, "shm") == 0 || strcmp(name, "mpi") == 0)
		return true;
	b->backend = backend_find("cuda", error);
	return b->backend && (!b->backend->ready || b->backend->ready(error));
}

/* The name, or NULL if the options are wrong. */
static const char *read_options(struct sums *b, int argc, char **argv)
{
	const char *name;
	int option, left;

	while ((option = getopt(argc, argv, "r:s:")) != -1) {
		if (option == 'r')
			b->runs = atoi(optarg);
		else if (option == 's')
			b->max = (size_t)atol(optarg);
		else
			return NULL;
	}
	left = argc - optind;
	if (left < 1 || left > 3 || b->runs < 1 || b->runs > SUMS_MAX_RUNS || b->max < SUMS_FIRST)
		return NULL;
	name = argv[optind];
	b->world = strcmp(name, "shm") == 0 ? 2 : 1;
	if (left > 1)
		b->world = atoi(argv[optind + 1]);
	if (strcmp(name, "mpi") == 0)
		b->world = of_environment("OMPI_COMM_WORLD_SIZE");
	b->processes = left == 3 && strcmp(argv[optind + 2], "processes") == 0;
	return left < 3 || (b->processes && strcmp(name, "shm") == 0) ? name : NULL;
}

int main(int argc, char **argv)
{
	struct sums bench = {.runs = 15, .max = (size_t)SUMS_FIRST << 2 * (SUMS_SIZES - 1)};
	struct train_error error = {.status = TRAIN_OK};
	const char *name = read_options(&bench, argc, argv);

	if (!name) {
		fputs("usage: collective [-r RUNS] [-s BYTES] shm|mpi|nccl|peer [RANKS "
		      "[processes]]\n",
		      stderr);
		return TRAIN_BAD_INPUT;
	}
	snprintf(bench.name, sizeof(bench.name), "bench-%d", (int)getpid());
	if (find(&bench, name, &error) && run(&bench, &error))
		return 0;
	fprintf(stderr, "collective: %s\n", error.text);
	return (int)error.status;
}
