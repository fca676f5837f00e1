/* SPDX-License-Identifier: MIT */
/*
 * Memory of devices. Each has a piece of the address space, and no address is given twice, so that
 * a pointer is known even after it is freed. Allocations begin with a page; pages between them
 * and freed ones cannot be touched at all. New memory is all ones: NaN in every type.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda_private.h"

#define SPACE ((size_t)1 << 36)

enum { SPACES = FAKE_CUDA_DEVICES + 1, PINNED = FAKE_CUDA_DEVICES, CANARY = 0xa5 };

/* A use, kept to find later uses that are not ordered with it. */
struct use {
	size_t first, end;
	int line;
	uint32_t tick;
	bool write;
	const char *what;
};

struct allocation {
	struct allocation *next;
	unsigned char *memory;
	size_t bytes, pages; /* pages: in bytes */
	bool alive;
	struct use *uses;
	int count, room;
};

static struct space {
	unsigned char *memory;
	size_t used;
	struct allocation *first; /* the latest */
} spaces[SPACES];

static int space_of(int device)
{
	return device == FAKE_HOST ? PINNED : device;
}

static int space_find(const void *memory)
{
	const unsigned char *at = memory;

	for (int i = 0; i < SPACES; i++)
		if (spaces[i].memory && at >= spaces[i].memory && at < spaces[i].memory + SPACE)
			return i;
	return -1;
}

bool memory_is_device(const void *memory, int *device)
{
	*device = space_find(memory);
	return *device >= 0 && *device != PINNED;
}

bool memory_is_pinned(const void *memory)
{
	return space_find(memory) == PINNED;
}

static struct allocation *allocate(int device, size_t bytes)
{
	struct space *space = &spaces[space_of(device)];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page * page;
	struct allocation *allocation;

	if (!space->memory) {
		space->memory = mmap(NULL, SPACE, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (space->memory == MAP_FAILED)
			abort();
		space->used = page;
	}
	allocation = calloc(1, sizeof(*allocation));
	if (!allocation || space->used + pages + page > SPACE)
		abort();
	*allocation = (struct allocation){.next = space->first,
					  .memory = space->memory + space->used,
					  .bytes = bytes,
					  .pages = pages,
					  .alive = true};
	if (mprotect(allocation->memory, pages, PROT_READ | PROT_WRITE) != 0)
		abort();
	memset(allocation->memory, 0xff, bytes);
	memset(allocation->memory + bytes, CANARY, pages - bytes);
	space->used += pages + page;
	space->first = allocation;
	return allocation;
}

static struct allocation *find(int space, const void *memory)
{
	const unsigned char *at = memory;

	for (struct allocation *a = spaces[space].first; a; a = a->next)
		if (at >= a->memory && at < a->memory + a->pages)
			return a;
	return NULL;
}

/* Whether no call wrote past its end. */
static bool whole(const struct allocation *allocation)
{
	for (size_t i = allocation->bytes; i < allocation->pages; i++)
		if (allocation->memory[i] != CANARY)
			return false;
	return true;
}

static void retire(struct allocation *allocation)
{
	if (!whole(allocation))
		fault(0, "something wrote behind an allocation of %zu bytes", allocation->bytes);
	madvise(allocation->memory, allocation->pages, MADV_DONTNEED);
	mprotect(allocation->memory, allocation->pages, PROT_NONE);
	free(allocation->uses);
	allocation->uses = NULL;
	allocation->count = allocation->room = 0;
	allocation->alive = false;
}

cudaError_t fake_cudaMalloc(void **memory, size_t bytes)
{
	int device = device_current();
	cudaError_t status = capture_refuses();

	if (status == cudaSuccess)
		status = device_state(device);
	if (status != cudaSuccess)
		return status;
	if (!memory)
		return cudaErrorInvalidValue;
	*memory = NULL;
	if (bytes == 0)
		return cudaSuccess;
	nccl_check_sums(device, "cudaMalloc");
	if (bytes > fake.options.bytes - fake.devices[device].used)
		return cudaErrorMemoryAllocation;
	*memory = allocate(device, bytes)->memory;
	fake.devices[device].used += bytes;
	return cudaSuccess;
}

/* The allocation that begins there, in use. */
static struct allocation *to_free(int space, const void *memory, const char *call)
{
	struct allocation *allocation = find(space, memory);

	if (!allocation || allocation->memory != memory)
		fault(0, "%s: no allocation begins at %p", call, memory);
	else if (!allocation->alive)
		fault(0, "%s: %p was freed before", call, memory);
	else
		return allocation;
	return NULL;
}

cudaError_t fake_cudaFree(void *memory)
{
	struct allocation *allocation;
	cudaError_t status = capture_refuses(), done;
	int device;

	if (status != cudaSuccess || !memory)
		return status;
	if (!memory_is_device(memory, &device))
		return (cudaError_t)fault(cudaErrorInvalidValue,
					  "cudaFree: %p is not a device's memory", memory);
	nccl_check_device(device, "cudaFree");
	done = stream_drain(device);
	allocation = to_free(device, memory, "cudaFree");
	if (!allocation)
		return cudaErrorInvalidValue;
	fake.devices[device].used -= allocation->bytes;
	retire(allocation);
	return done;
}

cudaError_t fake_cudaMallocHost(void **memory, size_t bytes)
{
	cudaError_t status = capture_refuses();

	if (status == cudaSuccess)
		status = device_state(device_current());
	if (status != cudaSuccess)
		return status;
	if (!memory || bytes == 0)
		return cudaErrorInvalidValue;
	nccl_check_sums(device_current(), "cudaMallocHost");
	*memory = allocate(FAKE_HOST, bytes)->memory;
	return cudaSuccess;
}

cudaError_t fake_cudaFreeHost(void *memory)
{
	struct allocation *allocation;
	cudaError_t status = capture_refuses(), done;

	if (status != cudaSuccess || !memory)
		return status;
	if (!memory_is_pinned(memory))
		return (cudaError_t)fault(cudaErrorInvalidValue,
					  "cudaFreeHost: %p is not of cudaMallocHost", memory);
	done = stream_drain(FAKE_HOST);
	allocation = to_free(PINNED, memory, "cudaFreeHost");
	if (!allocation)
		return cudaErrorInvalidValue;
	retire(allocation);
	return done;
}

cudaError_t fake_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	int device = device_current();
	cudaError_t status = device_state(device);

	if (status != cudaSuccess)
		return status;
	if (!free_bytes || !total)
		return cudaErrorInvalidValue;
	*total = fake.options.bytes;
	*free_bytes = fake.options.bytes - fake.devices[device].used;
	return cudaSuccess;
}

static struct allocation *check(const struct touch *touch, const char *what)
{
	int space = space_find(touch->memory), wanted = space_of(touch->device);
	const unsigned char *at = touch->memory;
	struct allocation *allocation;

	if (space < 0)
		fault(0, "%s: %p is pageable host memory or none", what, touch->memory);
	else if (space != wanted)
		fault(0, "%s: %p is of %s %d, not of %s %d", what, touch->memory,
		      space == PINNED ? "the host" : "device", space == PINNED ? 0 : space,
		      wanted == PINNED ? "the host" : "device", wanted == PINNED ? 0 : wanted);
	else if (touch->align > 1 && (uintptr_t)at % touch->align != 0)
		fault(0, "%s: %p is not a multiple of %zu", what, touch->memory, touch->align);
	else if (!(allocation = find(space, at)))
		fault(0, "%s: %p is in no allocation", what, touch->memory);
	else if (!allocation->alive)
		fault(0, "%s: %p was freed", what, touch->memory);
	else if (touch->bytes > allocation->bytes ||
		 (size_t)(at - allocation->memory) > allocation->bytes - touch->bytes)
		fault(0, "%s: %zu bytes at byte %zu of an allocation of %zu", what, touch->bytes,
		      (size_t)(at - allocation->memory), allocation->bytes);
	else
		return allocation;
	return NULL;
}

bool memory_check(const struct touch *touch, const char *what)
{
	return check(touch, what) != NULL;
}

static bool ordered(const struct use *use, const struct work *work)
{
	return work->clock.at[use->line] >= use->tick;
}

static void add_use(struct allocation *allocation, const struct use *use)
{
	int room = allocation->room ? 2 * allocation->room : 8;
	struct use *more;

	if (allocation->count == allocation->room) {
		more = realloc(allocation->uses, (size_t)room * sizeof(*more));
		if (!more)
			abort();
		allocation->uses = more;
		allocation->room = room;
	}
	allocation->uses[allocation->count++] = *use;
}

bool memory_use(const struct touch *touch, const struct work *work)
{
	struct allocation *allocation = check(touch, work->what);
	struct use use = {.line = work->line, .tick = work->tick, .write = touch->write};
	int kept = 0;

	if (!allocation)
		return false;
	use.first = (size_t)((const unsigned char *)touch->memory - allocation->memory);
	use.end = use.first + touch->bytes;
	use.what = work->what;
	for (int i = 0; i < allocation->count; i++) {
		const struct use *old = &allocation->uses[i];
		bool before = ordered(old, work);

		if (!before && (use.write || old->write) && old->first < use.end &&
		    use.first < old->end)
			fault(0,
			      "%s %s bytes %zu to %zu of an allocation that %s %s on another "
			      "stream, with nothing between them",
			      use.what, use.write ? "writes" : "reads", use.first, use.end,
			      old->what, old->write ? "writes" : "reads");
		/* The new use replaces the old one: what is ordered after it is after both. */
		if (before && use.first <= old->first && old->end <= use.end &&
		    (use.write || !old->write))
			continue;
		allocation->uses[kept++] = *old;
	}
	allocation->count = kept;
	if (use.end > use.first)
		add_use(allocation, &use);
	return true;
}

void memory_close(char *text)
{
	for (int i = 0; i < SPACES; i++) {
		for (struct allocation *next, *a = spaces[i].first; a; a = next) {
			next = a->next;
			if (a->alive && text[0] == '\0')
				snprintf(text, FAKE_CUDA_TEXT, "%zu bytes of %s %d were not freed",
					 a->bytes,
					 i == PINNED ? "pinned memory, allocation" : "device",
					 i == PINNED ? 0 : i);
			free(a->uses);
			free(a);
		}
		if (spaces[i].memory)
			munmap(spaces[i].memory, SPACE);
		spaces[i] = (struct space){.memory = NULL};
	}
}
