/* SPDX-License-Identifier: MIT */
#include "bench/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CALLS = 20, IN_A_ROW = 4 << 20 }; /* bytes, about */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- calls ---------------------------------------------------------------------------------- */

static bool sum(struct sums_rank *r)
{
	return collective_fork(r->comm, &r->error) &&
	       r->comm->calls->all_reduce(r->comm, r->values, (int64_t)(r->bytes / sizeof(float)),
					  "values", &r->error) &&
	       collective_join(r->comm, &r->error);
}

static bool memory(struct sums_rank *r)
{
	const struct backend *backend = r->bench->backend;

	if (backend)
		return backend->copy(r->device, r->other, r->device, r->values, r->bytes,
				     &r->error);
	memcpy(r->other, r->values, r->bytes);
	return true;
}

static bool finish(struct sums_rank *r)
{
	return !r->bench->backend || r->bench->backend->finish(r->device, &r->error);
}

/* Sets all values to `value`. */
static bool set(struct sums_rank *r, float value)
{
	for (size_t i = 0; i < r->bytes / sizeof(float); i++)
		r->host[i] = value;
	return !r->bench->backend ||
	       r->bench->backend->write(r->device, r->values, r->host, r->bytes, &r->error);
}

/* Checks a sum of ones. Afterwards values are zero, so that further sums do not overflow. */
static bool check_sum(struct sums_rank *r)
{
	if (!set(r, 1) || !sum(r) || !finish(r) ||
	    (r->bench->backend &&
	     !r->bench->backend->read(r->device, r->host, r->values, r->bytes, &r->error)))
		return false;
	for (size_t i = 0; i < r->bytes / sizeof(float); i++)
		if (r->host[i] != (float)r->bench->world)
			return train_fail(&r->error, TRAIN_FAILED,
					  "rank %d: the sum of %d ones is %g", r->rank,
					  r->bench->world, (double)r->host[i]);
	return set(r, 0);
}

/* --- measuring ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The time from the first rank's begin to the last one's end: one machine has one clock, and if
 * there are more ranks than cores they run one after the other. */
static bool run_once(struct sums_rank *r, int calls, bool (*call)(struct sums_rank *r), double *us)
{
	const struct collective *of = r->comm->calls;
	struct {
		double begin, end;
	} mine, all[SUMS_MAX_RANKS];

	if (!finish(r) || !of->all_gather(r->comm, NULL, NULL, 0, "a run", &r->error))
		return false;
	mine.begin = now_us();
	for (int i = 0; i < calls; i++)
		if (!call(r))
			return false;
	if (!finish(r))
		return false;
	mine.end = now_us();
	if (!of->all_gather(r->comm, &mine, all, sizeof(mine), "times", &r->error))
		return false;
	for (int i = 0; i < r->bench->world; i++) {
		mine.begin = all[i].begin < mine.begin ? all[i].begin : mine.begin;
		mine.end = all[i].end > mine.end ? all[i].end : mine.end;
	}
	*us = (mine.end - mine.begin) / calls;
	return true;
}

/* Makes one run more than it counts. */
static bool measure(struct sums_rank *r, bool (*call)(struct sums_rank *r), double *median)
{
	int calls = (int)(IN_A_ROW / r->bytes), runs = r->bench->runs;
	double us[SUMS_MAX_RUNS + 1];

	/* A wait for a GPU ends up to 70 us late. */
	if (r->comm->calls->on_devices)
		calls = MAX_CALLS;
	calls = calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : calls;
	for (int run = 0; run <= runs; run++)
		if (!run_once(r, calls, call, &us[run]))
			return false;
	qsort(us + 1, (size_t)runs, sizeof(*us), by_value);
	*median = us[1 + runs / 2];
	return true;
}

/* Each size is four times the one before. */
static bool measure_sizes(struct sums_rank *r)
{
	r->bytes = SUMS_FIRST;
	for (int i = 0; i < SUMS_SIZES && r->bytes <= r->bench->max; i++, r->bytes *= 4)
		if (!check_sum(r) || !measure(r, sum, &r->sum_us[i]) ||
		    !measure(r, memory, &r->memory_us[i]))
			return false;
	return true;
}

static bool measure_all(struct sums_rank *r)
{
	const struct sums *b = r->bench;
	bool good = b->calls->open(&r->comm, b->rendezvous, r->rank, r->device, &r->error) &&
		    measure_sizes(r);

	if (r->comm && !good)
		r->comm->calls->abort(r->comm, &r->error);
	if (r->comm)
		r->comm->calls->close(r->comm);
	return good;
}

static bool allocate(struct sums_rank *r)
{
	const struct backend *backend = r->bench->backend;
	size_t max = (r->bench->max + 63) / 64 * 64;

	if (backend) {
		r->values = backend->allocate(r->device, max, "values", &r->error);
		r->other = backend->allocate(r->device, max, "values", &r->error);
		r->host = malloc(max);
	} else {
		r->values = r->host = aligned_alloc(64, max);
		r->other = aligned_alloc(64, max);
	}
	if (r->values && r->other && r->host)
		return true;
	return r->error.text[0] ? false : train_nomem(&r->error, "values");
}

/* Frees what `allocate` made. */
static void release(struct sums_rank *r)
{
	const struct backend *backend = r->bench->backend;

	free(r->host);
	if (!backend) {
		free(r->other);
	} else if (r->device) {
		backend->release(r->device, r->other);
		backend->release(r->device, r->values);
		backend->close(r->device);
	}
}

bool sums_measure(struct sums_rank *r)
{
	const struct sums *b = r->bench;
	const struct device_options options = {.physical = r->rank, .logical = r->rank};
	bool ready =
		(!b->backend || b->backend->open(&r->device, &options, &r->error)) && allocate(r);

	if (!ready)
		b->calls->cancel(b->rendezvous, r->rank, &r->error);
	r->good = ready && measure_all(r);
	release(r);
	return r->good;
}

void sums_print(const struct sums_rank *r)
{
	const struct sums *b = r->bench;
	size_t bytes = SUMS_FIRST;

	printf("%s, %d %s%s; microseconds\n%9s %9s %9s %10s %9s\n", b->calls->name, b->world,
	       b->world > 1 ? "ranks" : "rank", b->processes ? ", processes" : "", "bytes", "sum",
	       "memory", "sum/memory", "bus GB/s");
	for (int i = 0; i < SUMS_SIZES && bytes <= b->max; i++, bytes *= 4) {
		double sent = 2.0 * (b->world - 1) / b->world * (double)bytes;
		double sum_us = r->sum_us[i], memory_us = r->memory_us[i];

		printf("%9zu %9.2f %9.2f %10.2f %9.2f\n", bytes, sum_us, memory_us,
		       sum_us / memory_us, sent / sum_us / 1e3);
	}
}
