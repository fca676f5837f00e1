/* SPDX-License-Identifier: MIT */
/* The choice among algorithms. A way that its library does not support after all, or that cannot be
 * recorded, is skipped. A failure of the device ends the choice. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "base/clock.h"

/* All that are TRIED are timed once, and then the best of them, TIMED, in further ROUNDS. A model
 * has about ten choices. Together they take about a second, after each way has run once and the
 * libraries have loaded what they need. A launch takes as long as a small operation, so one launch
 * has this many RUNS. */
enum { TRIED = 16, TIMED = 6, ROUNDS = 3, RUNS = 5, REMEMBERED = 256, MAX_NS = 60000000 };

/* Ways that need more transform whole tensors, and would set the peak of a run's memory. */
static const size_t max_workspace = (size_t)256 << 20;

/* The choices of this process, under cuda_captures_lock(). Threads that open replicas share nothing
 * else. */
static struct {
	int count;
	struct choice {
		uint64_t kind, key[CUDA_KEY_WORDS];
		struct cuda_way way;
	} list[REMEMBERED];
} choices;

struct trial {
	struct cuda_device *device;
	struct cuda_ways *ways;
	void *operands, *workspace;
	void *larger;           /* workspace for ways that are tried again, or NULL */
	bool is_short;          /* of memory: not all ways can be tried */
	struct train_error why; /* the first did not run */
	int64_t end_ns;
	cudaEvent_t start, stop;
};

struct candidate {
	const struct cuda_way *way;
	struct recording *step;
	float ms;
};

struct issue {
	struct trial *trial;
	const struct cuda_way *way;
	void *workspace;
};

/* Memory filled with numbers that are neither zero nor large: 0x3c3c is 1.06 in float16 and 0.01 in
 * bfloat16, 0x3c3c3c3c is 0.01. *memory: NULL if there is too little. */
static bool trial_memory(struct cuda_device *d, size_t bytes, void **memory,
			 struct train_error *error)
{
	return cuda_try_allocate(d, bytes, "trials", memory, error) &&
	       (!*memory ||
		CUDA_DO(d, RUNTIME, cudaMemsetAsync, (*memory, 0x3c, bytes, d->stream), error));
}

static void keep_within(struct cuda_ways *ways, size_t max)
{
	int kept = 0;

	for (int i = 0; i < ways->count; i++)
		if (ways->list[i].workspace <= max)
			ways->list[kept++] = ways->list[i];
	ways->count = kept;
}

/* Keeps the ways with a small enough workspace, or the one with the smallest. */
static void drop_large(struct cuda_ways *ways)
{
	struct cuda_way least = ways->list[0];

	for (int i = 0; i < ways->count; i++)
		if (ways->list[i].workspace < least.workspace)
			least = ways->list[i];
	keep_within(ways, max_workspace);
	if (ways->count == 0)
		ways->list[ways->count++] = least;
}

/* Allocates memory for as many of the ways as possible: the ways that need the most are left out
 * until the others fit. */
static bool find_memory(struct trial *t, struct train_error *error)
{
	struct cuda_ways *ways = t->ways;
	size_t max;

	if (!trial_memory(t->device, ways->operands, &t->operands, error))
		return false;
	if (!t->operands) {
		t->is_short = true;
		ways->count = 0;
	}
	while (ways->count > 0) {
		max = 0;
		for (int i = 0; i < ways->count; i++)
			max = ways->list[i].workspace > max ? ways->list[i].workspace : max;
		if (max == 0)
			return true;
		if (!trial_memory(t->device, max, &t->workspace, error))
			return false;
		if (t->workspace)
			return true;
		t->is_short = true;
		keep_within(ways, max - 1);
	}
	return true;
}

static bool issue(void *argument, struct train_error *error)
{
	const struct issue *what = argument;
	const struct cuda_ways *ways = what->trial->ways;

	return ways->run(ways->argument, what->way, what->trial->operands, what->workspace, error);
}

static bool issue_all(void *argument, struct train_error *error)
{
	for (int run = 0; run < RUNS; run++)
		if (!issue(argument, error))
			return false;
	return true;
}

/* *step: records RUNS runs of a way; NULL if it does not run. False if the device fails. */
static bool try_within(struct trial *t, const struct cuda_way *way, void *workspace,
		       struct recording **step, struct train_error *error)
{
	struct train_error why = TRAIN_TOLERATED;
	struct issue what = {t, way, workspace};
	struct device *device = &t->device->base;
	bool runs = issue(&what, &why);

	*step = NULL;
	if (!cuda_finish(device, error))
		return false;
	if (runs && cuda_recording_new(step, device, issue_all, &what, &why))
		return true;
	*step = NULL;
	if (t->why.status == TRAIN_OK)
		t->why = why;
	/* Takes an error that the library left, which the next call would return. */
	t->device->calls->cudaGetLastError();
	return cuda_finish(device, error);
}

/* Memory for all ways that are tried again. */
static bool want_larger(struct trial *t, struct train_error *error)
{
	size_t max = 0;

	for (int i = 0; i < t->ways->count && !t->larger; i++) {
		const struct cuda_way *way = &t->ways->list[i];
		size_t bytes = way->more_workspace ? way->workspace + way->more_workspace : 0;

		max = bytes > max ? bytes : max;
	}
	return t->larger || trial_memory(t->device, max, &t->larger, error);
}

static bool try_way(struct trial *t, struct cuda_way *way, struct recording **step,
		    struct train_error *error)
{
	struct cuda_way larger = *way;

	if (!try_within(t, way, t->workspace, step, error))
		return false;
	if (*step || way->more_workspace == 0)
		return true;
	if (!want_larger(t, error))
		return false;
	if (!t->larger) {
		t->is_short = true;
		return true;
	}
	larger.workspace += larger.more_workspace;
	if (!try_within(t, &larger, t->larger, step, error))
		return false;
	if (*step)
		way->workspace = larger.workspace;
	return true;
}

/* The least time of one run, over all launches. */
static bool time_step(struct trial *t, struct candidate *c, struct train_error *error)
{
	struct cuda_device *d = t->device;
	float ms;

	if (!CUDA_DO(d, RUNTIME, cudaEventRecord, (t->start, d->stream), error) ||
	    !cuda_recording_run(c->step, error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventRecord, (t->stop, d->stream), error) ||
	    !cuda_wait_event(d, t->stop, error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventElapsedTime, (&ms, t->start, t->stop), error))
		return false;
	ms /= RUNS;
	c->ms = c->ms < 0 || ms < c->ms ? ms : c->ms;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

/* Sorts them by their times. In a round the ways alternate, so that a GPU that is slow at first is
 * slow for all of them. A way that is far slower than the best is not timed again. */
static bool time_all(struct trial *t, struct candidate *list, int count, struct train_error *error)
{
	int timed = count < TIMED ? count : TIMED;

	if (count < 2)
		return true;
	for (int i = 0; i < count; i++)
		if (!time_step(t, &list[i], error))
			return false;
	qsort(list, (size_t)count, sizeof(*list), by_time);
	for (int i = timed; i < timed * ROUNDS && clock_ns() < t->end_ns; i++)
		if (list[i % timed].ms <= 2 * list[0].ms && !time_step(t, &list[i % timed], error))
			return false;
	qsort(list, (size_t)timed, sizeof(*list), by_time);
	return true;
}

/* The first that runs, or the fastest. *chosen: NULL if none runs. */
static bool try_all(struct trial *t, const struct cuda_way **chosen, struct train_error *error)
{
	int tried = t->device->deterministic ? 1 : TRIED, count = 0;
	struct candidate list[TRIED];
	bool done = true;

	for (int i = 0; done && i < t->ways->count && count < tried; i++) {
		struct candidate *c = &list[count];

		*c = (struct candidate){.way = &t->ways->list[i], .ms = -1};
		done = try_way(t, &t->ways->list[i], &c->step, error);
		if (c->step)
			count++;
	}
	t->end_ns = clock_ns() + MAX_NS;
	done = done && time_all(t, list, count, error);
	*chosen = count > 0 ? list[0].way : NULL;
	for (int i = 0; i < count; i++)
		cuda_recording_free(list[i].step);
	return done;
}

/* *way: NULL if none runs. */
static bool measure(struct trial *t, const struct cuda_way **way, struct train_error *error)
{
	struct cuda_device *d = t->device;
	bool done = CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags, (&t->start, cudaEventDefault),
			    error) &&
		    CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags, (&t->stop, cudaEventDefault),
			    error) &&
		    try_all(t, way, error);

	if (t->start)
		CUDA_END(d, RUNTIME, cudaEventDestroy, (t->start));
	if (t->stop)
		CUDA_END(d, RUNTIME, cudaEventDestroy, (t->stop));
	return done;
}

static bool try_in_memory(struct trial *t, struct cuda_way *chosen, struct train_error *error)
{
	const struct cuda_way *way = NULL;

	if (!find_memory(t, error) || (t->ways->count > 0 && !measure(t, &way, error)))
		return false;
	if (!way && !t->is_short)
		return train_fail(error, TRAIN_FAILED, "none of %s's algorithms for this runs: %s",
				  t->ways->what, t->why.text);
	*chosen = way ? *way : t->ways->known;
	return true;
}

/* The choice that a device of the same kind made, if it is among these ways. */
static bool recall(const struct cuda_device *d, const struct cuda_ways *ways,
		   struct cuda_way *chosen)
{
	for (int i = 0; i < choices.count; i++) {
		const struct choice *c = &choices.list[i];

		if (c->kind != d->kind || memcmp(c->key, ways->key, sizeof(c->key)) != 0)
			continue;
		for (int k = 0; k < ways->count; k++)
			if (memcmp(c->way.words, ways->list[k].words, sizeof(c->way.words)) == 0) {
				*chosen = c->way;
				return true;
			}
	}
	return false;
}

static void remember(const struct cuda_device *d, const struct cuda_ways *ways,
		     const struct cuda_way *chosen)
{
	struct choice *c = &choices.list[choices.count];

	if (choices.count == REMEMBERED)
		return;
	c->kind = d->kind;
	memcpy(c->key, ways->key, sizeof(c->key));
	c->way = *chosen;
	choices.count++;
}

/* One device at a time: another replica may use the same GPU. */
static bool recall_or_try(struct trial *t, struct cuda_way *chosen, struct train_error *error)
{
	struct cuda_device *d = t->device;
	bool done;

	if (!d->deterministic && recall(d, t->ways, chosen))
		return true;
	done = try_in_memory(t, chosen, error);
	cuda_release(&d->base, t->larger);
	cuda_release(&d->base, t->workspace);
	cuda_release(&d->base, t->operands);
	if (done && !d->deterministic)
		remember(d, t->ways, chosen);
	return done;
}

bool cuda_choose(struct cuda_device *d, struct cuda_ways *ways, struct cuda_way *chosen,
		 struct train_error *error)
{
	struct trial t = {.device = d, .ways = ways, .why = TRAIN_TOLERATED};
	bool done;

	if (ways->count == 0)
		return train_fail(error, TRAIN_FAILED, "%s: %s has no algorithm for this%s%s",
				  d->where, ways->what, *ways->why.text ? ": " : "",
				  ways->why.text);
	drop_large(ways);
	cuda_captures_lock();
	done = recall_or_try(&t, chosen, error);
	cuda_captures_unlock();
	return done;
}
