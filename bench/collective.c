/* SPDX-License-Identifier: MIT */
/*
 * collective: what a sum over 1, 2 and 4 ranks costs, as threads and as processes: the convnet's
 * gradients, 1 MiB, and 64 bytes. Each rank must read its values once and write them once; the
 * yardstick is as many ranks that do just that at once, each with its own memory, which is what
 * memory allows. It ends when the last rank has it. Medians, and the least of all runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "collective/collective.h"

enum { MOST = 4, RUNS = 61 };

/* In memory that ranks share however they run. */
struct record {
	double begin[MOST][RUNS], end[MOST][RUNS];
	bool good[MOST];
};

struct rank {
	int rank, world;
	bool sums; /* or else the yardstick */
	int64_t count;
	struct meeting *meeting;
	struct record *record;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Reads each value and writes it. */
static void touch(float *values, int64_t count)
{
#pragma omp simd
	for (int64_t i = 0; i < count; i++)
		values[i] += 1.0f;
}

static bool rank_runs(const struct rank *r, struct communicator *comm, float *values,
		      struct train_error *error)
{
	for (int run = 0; run < RUNS; run++) {
		for (int64_t i = 0; i < r->count; i++)
			values[i] = 1;
		if (!comm->calls->all_gather(comm, NULL, NULL, 0, "begin", error))
			return false;
		r->record->begin[r->rank][run] = now_us();
		if (!r->sums)
			touch(values, r->count);
		else if (!comm->calls->all_reduce(comm, values, r->count, "values", error))
			return false;
		r->record->end[r->rank][run] = now_us();
		if (r->count > 0 && r->sums && values[r->count / 2] != (float)r->world)
			return false;
	}
	return true;
}

static void *rank_main(void *argument)
{
	const struct rank *r = argument;
	struct train_error error = {.status = TRAIN_OK};
	struct communicator *comm;
	float *values = aligned_alloc(64, (size_t)(r->count + 15) / 16 * 64);

	if (values && collective_shm.open(&comm, r->meeting, r->rank, NULL, &error)) {
		r->record->good[r->rank] = rank_runs(r, comm, values, &error);
		collective_shm.close(comm);
	}
	if (error.text[0])
		fprintf(stderr, "rank %d: %s\n", r->rank, error.text);
	free(values);
	return NULL;
}

static bool meet(struct meeting **meeting, int world, int ranks, const char *name)
{
	const struct meeting_options options = {.world = world, .ranks = ranks, .name = name};
	struct train_error error = {.status = TRAIN_OK};

	if (collective_shm.meet(meeting, &options, &error))
		return true;
	fprintf(stderr, "%s\n", error.text);
	return false;
}

static bool run_threads(struct rank *ranks, int world)
{
	pthread_t threads[MOST];
	struct meeting *meeting;

	if (!meet(&meeting, world, world, NULL))
		return false;
	for (int r = 0; r < world; r++) {
		ranks[r].meeting = meeting;
		if (pthread_create(&threads[r], NULL, rank_main, &ranks[r]) != 0)
			return false;
	}
	for (int r = 0; r < world; r++)
		pthread_join(threads[r], NULL);
	collective_shm.part(meeting);
	return true;
}

static bool run_processes(struct rank *ranks, int world)
{
	char name[40];

	snprintf(name, sizeof(name), "bench-%d", (int)getpid());
	for (int r = 0; r < world; r++) {
		pid_t child = fork();

		if (child < 0)
			return false;
		if (child > 0)
			continue;
		if (meet(&ranks[r].meeting, world, 1, name)) {
			rank_main(&ranks[r]);
			collective_shm.part(ranks[r].meeting);
		}
		_exit(0);
	}
	for (int r = 0; r < world; r++)
		wait(NULL);
	return true;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct times {
	double median, least; /* microseconds; below 0: failed */
};

/* From when the first rank begins to when the last one is done. */
static struct times times_of(const struct record *record, int world)
{
	double times[RUNS];

	for (int run = 0; run < RUNS; run++) {
		double begin = record->begin[0][run], end = 0;

		for (int r = 0; r < world; r++) {
			if (!record->good[r])
				return (struct times){-1, -1};
			begin = record->begin[r][run] < begin ? record->begin[r][run] : begin;
			end = record->end[r][run] > end ? record->end[r][run] : end;
		}
		times[run] = end - begin;
	}
	qsort(times, RUNS, sizeof(*times), by_value);
	return (struct times){times[RUNS / 2], times[0]};
}

static struct times measure(struct record *record, int world, int64_t count, bool sums,
			    bool (*run)(struct rank *ranks, int world))
{
	struct rank ranks[MOST];

	memset(record, 0, sizeof(*record));
	for (int r = 0; r < world; r++)
		ranks[r] = (struct rank){
			.rank = r, .world = world, .sums = sums, .count = count, .record = record};
	return run(ranks, world) ? times_of(record, world) : (struct times){-1, -1};
}

static bool print_row(struct record *record, int world, int64_t count)
{
	struct times floor = measure(record, world, count, false, run_threads);
	struct times threads = measure(record, world, count, true, run_threads);
	struct times processes = measure(record, world, count, true, run_processes);

	if (floor.least < 0 || threads.least < 0 || processes.least < 0)
		return false;
	printf("%9lld %5d %9.1f %9.1f %9.1f %9.1f %6.2f %9.1f %9.1f %6.2f\n", (long long)count * 4,
	       world, floor.median, floor.least, threads.median, threads.least,
	       threads.median / floor.median, processes.median, processes.least,
	       processes.median / floor.median);
	return true;
}

int main(void)
{
	static const int64_t counts[] = {4275594, 262144, 16};
	struct record *record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (record == MAP_FAILED)
		return perror("mmap"), 1;
	printf("%s\n%9s %5s %9s %9s %9s %9s %6s %9s %9s %6s\n",
	       "microseconds, ratios of medians to the yardstick's", "bytes", "ranks", "yardstick",
	       "least", "threads", "least", "ratio", "processes", "least", "ratio");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (int world = 1; world <= MOST; world *= 2)
			if (!print_row(record, world, counts[i]))
				return fputs("collective: a rank failed\n", stderr), 1;
	return 0;
}
