/* SPDX-License-Identifier: MIT */
/*
 * What the files of the pretended CUDA share. All of it is under one lock, which the wrappers in
 * fake_cuda_table.c take around every call; work runs under it too.
 */
#ifndef TEST_FAKE_CUDA_PRIVATE_H
#define TEST_FAKE_CUDA_PRIVATE_H

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "fake_cuda.h"

/* fake_cudaMalloc and so on: the calls themselves, with the lock held. */
#define CALL(library, type, name, parameters, arguments) type fake_##name parameters;
#define QUERY CALL
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL

/* Order. Each stream is a line with a tick for each piece of work. A clock has a tick for each
 * line: all work up to it is known to be done before. */
enum { FAKE_LINES = 64 };

struct clock {
	uint32_t at[FAKE_LINES];
};

static inline void clock_join(struct clock *clock, const struct clock *other)
{
	for (int i = 0; i < FAKE_LINES; i++)
		if (clock->at[i] < other->at[i])
			clock->at[i] = other->at[i];
}

/* Objects are kept until the end, so that a destroyed one is known when it is used. */
enum object_kind {
	OBJECT_STREAM,
	OBJECT_EVENT,
	OBJECT_GRAPH,
	OBJECT_EXECUTABLE,
	OBJECT_CUDNN,
	OBJECT_TENSOR,
	OBJECT_FILTER,
	OBJECT_CONVOLUTION,
	OBJECT_ACTIVATION,
	OBJECT_BACKEND,
	OBJECT_CUBLASLT,
	OBJECT_PRODUCT,
	OBJECT_MATRIX,
	OBJECT_PREFERENCE,
	OBJECT_COMM,
	OBJECT_KINDS
};

struct object {
	struct object *next;
	enum object_kind kind;
	bool alive;
	int device; /* the current one when it was made */
};

/* Zeroed memory of `bytes`, which begins with a struct object; never NULL. */
void *object_new(enum object_kind kind, size_t bytes);
/* The object, if it is a living one of that kind; else NULL and a fault. */
void *object_get(enum object_kind kind, const void *object, const char *call);
void object_end(void *object);

/* Notes the first fault. Returns `status` for `return fault(...)`. */
int fault(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A use of memory by work: bytes from an address that must lie within one allocation of `device`,
 * FAKE_HOST for pinned memory. align: what the address must be a multiple of. */
enum { FAKE_HOST = -1 };

struct touch {
	const void *memory;
	size_t bytes, align;
	int device;
	bool write;
};

struct touches {
	struct touch *list;
	int count, room;
	bool running; /* what lies on the device can be read */
};

void touch(struct touches *touches, const struct touch *touch);

struct work;

struct work_kind {
	const char *name;
	/* What it reads and writes. */
	void (*list)(const struct work *work, struct touches *touches);
	void (*run)(struct work *work);
	bool (*ready)(struct work *work); /* NULL: always */
	/* Called when it is put on a stream, by itself or by a graph; may be NULL. */
	void (*put)(struct work *work);
};

/* What is put on a stream: plain bytes, which a graph copies. */
struct work {
	struct work *next;
	const struct work_kind *kind;
	const char *what; /* the call */
	int device, line;
	uint32_t tick;
	struct clock clock;
	size_t bytes;
	_Alignas(max_align_t) unsigned char data[];
};

struct CUgraph_st {
	struct object object;
	struct CUstream_st *origin;
	pthread_t owner;
	bool open, invalid;
	struct work **nodes;
	int count, room;
};

struct CUgraphExec_st {
	struct object object;
	struct CUgraph_st *graph;
};

struct CUstream_st {
	struct object object;
	int line;
	uint32_t tick;
	struct clock clock;
	struct work *first, **last;
	struct CUgraph_st *graph; /* that it is captured into */
	uint32_t graph_tick;
	struct clock graph_clock;
};

struct CUevent_st {
	struct object object;
	unsigned int flags;
	uint64_t recorded, done; /* counts */
	struct clock clock;
	double ms;
	struct CUgraph_st *graph; /* whose capture recorded it */
};

struct device {
	bool context;
	cudaError_t broken;
	bool hangs;
	size_t used;
	double ms; /* what its work is pretended to have taken, beside the time it took */
	bool peers[FAKE_CUDA_DEVICES];
};

struct fake {
	bool opened, reported;
	struct fake_cuda_options options;
	struct device devices[FAKE_CUDA_DEVICES];
	struct object *objects;
	struct clock host; /* what threads of the host have waited for, all of them together */
	bool lines[FAKE_LINES];
	uint32_t ticks[FAKE_LINES];
	struct CUgraph_st *launched; /* the last graph; NULL: none yet */
	uint32_t runs;               /* of algorithms that are not deterministic */
	uint64_t made[CUDA_CALLS];
	char fault[FAKE_CUDA_TEXT];
	pthread_cond_t changed;
};

extern struct fake fake;

void fake_lock(void);
/* Lets others have the lock until something changes. */
void fake_wait(void);
void fake_unlock(void);

/* The device that the calling thread has chosen; creates its context. */
int device_current(void);
/* cudaSuccess, or why nothing can be done on the device. */
cudaError_t device_state(int device);

/* Device memory (fake_cuda_memory.c). */
bool memory_is_device(const void *memory, int *device); /* of any device, even freed */
bool memory_is_pinned(const void *memory);
/* Whether all of it is in a living allocation of the device, and aligned; else notes a fault. */
bool memory_check(const struct touch *touch, const char *what);
/* The same, and whether nothing else uses it at the same time; notes the use. */
bool memory_use(const struct touch *touch, const struct work *work);
void memory_close(char *text); /* frees all; writes a leak to text if that is empty */

/* Streams (fake_cuda_stream.c). */
struct work *work_new(const struct work_kind *kind, const char *what, const void *data,
		      size_t bytes);
/* Checks what it touches and puts it on the stream, or into the graph. Takes the work. `current`:
 * the stream must be of the thread's device. */
cudaError_t stream_put(cudaStream_t stream, struct work *work, bool current);
/* Does all that can be done now, unless it is to be late. */
void stream_work(void);
cudaStream_t stream_get(cudaStream_t stream, const char *call);
/* Waits until all streams of a device are done, or all (FAKE_HOST). */
cudaError_t stream_drain(int device);
/* Waits until the stream is done. */
cudaError_t stream_wait(cudaStream_t stream);
/* Does a piece of work of each stream that has one that can be done. Returns whether any had. */
bool stream_step(void);

/* Refuses what may not be done by a thread that captures; spoils its capture. */
cudaError_t capture_refuses(void);
void capture_spoil(struct CUgraph_st *graph);
cudaError_t capture_put(cudaStream_t stream, struct work *work);
/* Events in a capture: whether the call belongs to a capture, and its status. */
bool capture_record(cudaEvent_t event, cudaStream_t stream, cudaError_t *status);
bool capture_wait(cudaStream_t stream, cudaEvent_t event, cudaError_t *status);

/* NCCL's objects are freed at the end. */
void nccl_close(void);
/* For a call that waits for the device: a fault if work of NCCL on it waits for ranks. */
void nccl_check_device(int device, const char *call);
/* The same, but messages may wait. */
void nccl_check_sums(int device, const char *call);

#endif
