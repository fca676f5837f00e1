/* SPDX-License-Identifier: MIT */
/*
 * nccl [RANKS]: what a sum of gradients by collective nccl costs on the GPUs of this machine, one
 * for each rank, which are threads; by default all of them. For 1 KiB to 64 MiB: microseconds of
 * one of many calls in a row; of the same with values sent as bfloat16; of a copy on the device,
 * which reads and writes each value once: what memory allows. "bus" is what a ring sends over each
 * link, 2 (RANKS - 1) / RANKS of the values, in GB/s. Medians of runs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backend/cuda.h"
#include "collective/collective.h"

enum { MOST = 16, RUNS = 15, CALLS = 20, SIZES = 9, FIRST = 1024, LIMIT_MS = 60000 };
enum { SUM, SUM_BFLOAT16, COPY, WAYS };

struct rank {
	pthread_t thread;
	int rank, world;
	struct meeting *meeting[2]; /* as they are, and in bfloat16 */
	struct device *device;
	double us[SIZES][WAYS]; /* of rank 0 */
	struct train_error error;
	bool good;
};

struct place {
	struct rank *rank;
	struct communicator *comm;
	float *values, *other;
	size_t bytes;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool sum(const struct place *p)
{
	const struct collective *calls = p->comm->calls;
	struct train_error *error = &p->rank->error;

	return calls->fork(p->comm, error) &&
	       calls->all_reduce(p->comm, p->values, (int64_t)(p->bytes / sizeof(float)), "values",
				 error) &&
	       calls->join(p->comm, error);
}

static bool copy(const struct place *p)
{
	return backend_cuda.copy(p->rank->device, p->other, p->rank->device, p->values, p->bytes,
				 &p->rank->error);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* One run more than counts: the first connects. */
static bool measure(const struct place *p, bool (*call)(const struct place *place), double *median)
{
	struct rank *r = p->rank;
	double us[RUNS];

	for (int run = -1; run < RUNS; run++) {
		double begin;

		if (!p->comm->calls->all_gather(p->comm, NULL, NULL, 0, "a run", &r->error) ||
		    !backend_cuda.finish(r->device, &r->error))
			return false;
		begin = now_us();
		for (int i = 0; i < CALLS; i++)
			if (!call(p))
				return false;
		if (!backend_cuda.finish(r->device, &r->error))
			return false;
		if (run >= 0)
			us[run] = (now_us() - begin) / CALLS;
	}
	qsort(us, RUNS, sizeof(*us), by_value);
	*median = us[RUNS / 2];
	return true;
}

/* Sizes grow fourfold. */
static bool measure_all(struct place *p, int way, bool (*call)(const struct place *place))
{
	p->bytes = FIRST;
	for (int i = 0; i < SIZES; i++, p->bytes *= 4)
		if (!measure(p, call, &p->rank->us[i][way]))
			return false;
	return true;
}

static bool with_values(struct place *p)
{
	struct rank *r = p->rank;
	size_t most = (size_t)FIRST << 2 * (SIZES - 1);
	bool good = true;

	p->values = backend_cuda.allocate(r->device, most, "values", &r->error);
	p->other = p->values ? backend_cuda.allocate(r->device, most, "values", &r->error) : NULL;
	if (!p->other || !backend_cuda.zero(r->device, p->values, most, &r->error))
		return false;
	for (int way = SUM; good && way <= SUM_BFLOAT16; way++) {
		good = collective_nccl.open(&p->comm, r->meeting[way], r->rank, r->device,
					    &r->error) &&
		       measure_all(p, way, sum) && (way == SUM || measure_all(p, COPY, copy));
		if (p->comm && !good)
			p->comm->calls->abort(p->comm, &r->error);
		if (p->comm)
			p->comm->calls->close(p->comm);
		p->comm = NULL;
	}
	return good;
}

static void *rank_main(void *argument)
{
	struct rank *r = argument;
	const struct device_options options = {.physical = r->rank, .logical = r->rank};
	struct place place = {.rank = r};

	if (!backend_cuda.open(&r->device, &options, &r->error)) {
		collective_nccl.cancel(r->meeting[SUM], r->rank, &r->error);
		return NULL;
	}
	r->good = with_values(&place);
	backend_cuda.release(r->device, place.other);
	backend_cuda.release(r->device, place.values);
	backend_cuda.close(r->device);
	return NULL;
}

static bool run_ranks(struct rank *ranks, int world, struct train_error *error)
{
	struct meeting *meeting[2];
	bool good = true;

	for (int i = 0; i < 2; i++) {
		const struct meeting_options options = {.world = world,
							.ranks = world,
							.local = world,
							.timeout_ms = LIMIT_MS,
							.sums = i ? VALUE_BFLOAT16 : VALUE_FLOAT32};

		if (!collective_nccl.meet(&meeting[i], &options, error))
			return false;
	}
	for (int r = 0; r < world; r++) {
		ranks[r] = (struct rank){
			.rank = r, .world = world, .meeting = {meeting[0], meeting[1]}};
		if (pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]) != 0)
			return train_fail(error, TRAIN_FAILED, "no thread can be started");
	}
	for (int r = 0; r < world; r++) {
		pthread_join(ranks[r].thread, NULL);
		good = good && ranks[r].good;
		if (!ranks[r].good)
			train_fail(error, ranks[r].error.status, "%s", ranks[r].error.text);
	}
	for (int i = 0; i < 2; i++)
		collective_nccl.part(meeting[i]);
	return good;
}

static void print(const struct rank *rank)
{
	size_t bytes = FIRST;

	printf("%d ranks; microseconds\n%9s %9s %9s %9s %9s %9s\n", rank->world, "bytes", "sum",
	       "bfloat16", "copy", "sum/copy", "bus GB/s");
	for (int i = 0; i < SIZES; i++, bytes *= 4) {
		const double *us = rank->us[i];
		double sent = 2.0 * (rank->world - 1) / rank->world * (double)bytes;

		printf("%9zu %9.2f %9.2f %9.2f %9.2f %9.1f\n", bytes, us[SUM], us[SUM_BFLOAT16],
		       us[COPY], us[SUM] / us[COPY], sent / us[SUM] / 1e3);
	}
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct cuda_calls *calls = cuda_calls_get(&error);
	struct rank ranks[MOST];
	int count = 0;

	if (calls && cuda_calls_devices(calls, &count, &error)) {
		count = count < MOST ? count : MOST;
		if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) < count)
			count = atoi(argv[1]);
		if (run_ranks(ranks, count, &error))
			return print(&ranks[0]), 0;
	}
	fprintf(stderr, "nccl: %s\n", error.text);
	return (int)error.status;
}
