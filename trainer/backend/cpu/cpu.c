/* SPDX-License-Identifier: MIT */
/* See cpu.h. */
#include "backend/cpu/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "backend/eventcount.h"
#include "base/pages.h"
#include "memory.h"

enum { ALIGNMENT = 64, LINE = 64, SPREAD_LEAST = 1 << 18 };

#define MAX_BYTES (SIZE_MAX / 2)

/* With the sanitizer a block ends exactly where its memory ends, so that it sees overruns. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { ADDRESSES_ARE_WATCHED = true };
#else
enum { ADDRESSES_ARE_WATCHED = false };
#endif

/* Lies before each block, on a cache line of its own so that the block stays aligned. */
struct block {
	_Alignas(ALIGNMENT) size_t bytes;
	void *taken; /* to be freed */
};

struct event {
	struct eventcount recorded;
};

struct recording {
	bool (*issue)(void *argument, struct train_error *error);
	void *argument;
};

static bool settle(const struct device_options *options, struct train_error *error)
{
	int failed = 0;

	if (options->cpus)
		failed = pthread_setaffinity_np(pthread_self(), sizeof(*options->cpus),
						options->cpus);
	if (failed)
		return train_fail(error, TRAIN_FAILED,
				  "device %d cannot have its cores (%s); give it cores that this "
				  "process may use",
				  options->physical, strerror(failed));
#ifdef __SSE__
	_mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
	return true;
}

void *cpu_device_new(size_t size, const struct backend *backend,
		     const struct device_options *options, struct train_error *error)
{
	struct cpu_device *made;

	if (!settle(options, error))
		return NULL;
	made = xcalloc(1, size);
	made->base.backend = backend;
	made->base.physical = options->physical;
	return made;
}

static bool is_large(size_t bytes)
{
	return bytes >= 2 * HUGE_PAGE;
}

static struct block *take(size_t bytes)
{
	void *taken;
	struct block *block;

	if (posix_memalign(&taken, is_large(bytes) ? HUGE_PAGE : ALIGNMENT, bytes) != 0)
		return NULL;
	if (is_large(bytes))
		pages_want_huge(taken, bytes);
	block = taken;
	block->taken = taken;
	return block;
}

/* calloc knows that fresh pages of the kernel are zero, so nothing writes them before they are
 * used. */
static struct block *take_zeros(size_t bytes)
{
	struct block *block;
	char *taken;

	if (!is_large(bytes) || ADDRESSES_ARE_WATCHED) {
		block = take(bytes);
		if (block)
			memset(block + 1, 0, bytes - sizeof(*block));
		return block;
	}
	taken = calloc(1, bytes + HUGE_PAGE);
	if (!taken)
		return NULL;
	block = (void *)(taken + pages_before(taken));
	pages_want_huge(block, bytes);
	block->taken = taken;
	return block;
}

static void *counted(struct device *device, struct block *block, size_t bytes, const char *what,
		     struct train_error *error)
{
	if (!block) {
		train_fail(error, TRAIN_FAILED,
			   "device %d: no memory for %zu bytes of %s beside %zu in use; make the "
			   "batch smaller",
			   device->physical, bytes, what, device->bytes);
		return NULL;
	}
	block->bytes = bytes;
	device->bytes += bytes;
	if (device->bytes > device->peak_bytes)
		device->peak_bytes = device->bytes;
	return block + 1;
}

void *cpu_allocate(struct device *device, size_t bytes, const char *what, struct train_error *error)
{
	return counted(device, bytes > MAX_BYTES ? NULL : take(sizeof(struct block) + bytes), bytes,
		       what, error);
}

void *cpu_allocate_zeros(struct device *device, size_t bytes, const char *what,
			 struct train_error *error)
{
	return counted(device, bytes > MAX_BYTES ? NULL : take_zeros(sizeof(struct block) + bytes),
		       bytes, what, error);
}

void cpu_release(struct device *device, void *memory)
{
	struct block *block = memory;

	if (!block)
		return;
	block--;
	device->bytes -= block->bytes;
	free(block->taken);
}

/* Bytes that all threads work on, each thread on its own cache lines. */
struct stretch {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static void spread(struct device *device, const struct stretch *stretch,
		   void (*work)(void *argument, int64_t first, int64_t last))
{
	struct stretch own = *stretch;
	int64_t lines = (int64_t)((stretch->bytes + LINE - 1) / LINE);

	if (stretch->bytes == 0)
		return; /* the address may be NULL as well */
	if (stretch->bytes < SPREAD_LEAST)
		work(&own, 0, lines);
	else
		cpu_team_run(cpu_team_of(device), lines, work, &own);
}

/* The bytes of lines first..last. */
static struct stretch part_of(const struct stretch *s, int64_t first, int64_t last)
{
	size_t begin = (size_t)first * LINE, end = (size_t)last * LINE;

	end = end < s->bytes ? end : s->bytes;
	return (struct stretch){s->to + begin, s->from + begin, end - begin};
}

static void copy_part(void *argument, int64_t first, int64_t last)
{
	struct stretch part = part_of(argument, first, last);

	memcpy(part.to, part.from, part.bytes);
}

static void zero_part(void *argument, int64_t first, int64_t last)
{
	struct stretch part = part_of(argument, first, last);

	memset(part.to, 0, part.bytes);
}

static void add_part(void *argument, int64_t first, int64_t last)
{
	struct stretch part = part_of(argument, first, last);
	float *restrict sum = (void *)part.to;
	const float *restrict more = (const void *)part.from;
	int64_t count = (int64_t)(part.bytes / sizeof(*sum));

#pragma omp simd
	for (int64_t i = 0; i < count; i++)
		sum[i] += more[i];
}

bool cpu_write(struct device *device, void *to, const void *host, size_t bytes,
	       struct train_error *error)
{
	spread(device, &(struct stretch){to, host, bytes}, copy_part);
	return true;
}

bool cpu_read(struct device *device, void *host, const void *from, size_t bytes,
	      struct train_error *error)
{
	return cpu_write(device, host, from, bytes, error);
}

bool cpu_copy(struct device *device, void *to, const struct device *other, const void *from,
	      size_t bytes, struct train_error *error)
{
	return cpu_write(device, to, from, bytes, error);
}

bool cpu_zero(struct device *device, void *to, size_t bytes, struct train_error *error)
{
	spread(device, &(struct stretch){to, to, bytes}, zero_part);
	return true;
}

bool cpu_fetch(struct device *device, const void *from, size_t bytes, struct train_error *error)
{
	struct cpu_device *own = (struct cpu_device *)device;

	memcpy(own->results[own->fetched++ % MAX_FETCH], from, bytes);
	return true;
}

bool cpu_take(struct device *device, void *host, size_t bytes, struct train_error *error)
{
	struct cpu_device *own = (struct cpu_device *)device;

	memcpy(host, own->results[own->taken++ % MAX_FETCH], bytes);
	return true;
}

bool cpu_add(struct device *device, float *sum, const float *more, int64_t count,
	     struct train_error *error)
{
	spread(device,
	       &(struct stretch){(void *)sum, (const void *)more, (size_t)count * sizeof(*sum)},
	       add_part);
	return true;
}

bool cpu_add_ranks(const struct batch_ranks *ranks, double *values, double *all, int64_t count,
		   struct train_error *error)
{
	if (!ranks->gather(ranks->argument, values, all, (size_t)count * sizeof(*values), error))
		return false;
	for (int64_t i = 0; i < count; i++) {
		values[i] = 0.0;
		for (int rank = 0; rank < ranks->count; rank++)
			values[i] += all[rank * count + i];
	}
	return true;
}

bool cpu_event_new(struct event **event, struct device *device, struct train_error *error)
{
	*event = xmalloc(sizeof(**event));
	eventcount_init(&(*event)->recorded);
	return true;
}

bool cpu_event_record(struct event *event, struct train_error *error)
{
	eventcount_advance(&event->recorded);
	return true;
}

void cpu_event_abort(struct event *event)
{
	eventcount_abort(&event->recorded);
}

bool cpu_event_wait(struct device *device, struct event *event, uint64_t times,
		    struct train_error *error)
{
	return eventcount_await(&event->recorded, times) ||
	       train_fail(error, TRAIN_FAILED,
			  "device %d: another device failed, which ends this wait; see the message "
			  "of that device",
			  device->physical);
}

void cpu_event_free(struct event *event)
{
	if (event)
		eventcount_destroy(&event->recorded);
	free(event);
}

bool cpu_finish(struct device *device, struct train_error *error)
{
	return true;
}

bool cpu_recording_new(struct recording **step, struct device *device,
		       bool (*issue)(void *argument, struct train_error *error), void *argument,
		       struct train_error *error)
{
	*step = xmalloc(sizeof(**step));
	**step = (struct recording){issue, argument};
	return true;
}

bool cpu_recording_run(struct recording *step, struct train_error *error)
{
	return step->issue(step->argument, error);
}

void cpu_recording_free(struct recording *step)
{
	free(step);
}
