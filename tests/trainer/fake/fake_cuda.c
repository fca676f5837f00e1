/* SPDX-License-Identifier: MIT */
/* The pretended machine: its beginning and end, objects, faults, and the lock. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda_private.h"

struct fake fake = {.changed = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const kind_names[OBJECT_KINDS] = {
	"stream",        "event",
	"graph",         "executable",
	"cuDNN handle",  "tensor descriptor",
	"filter",        "convolution",
	"activation",    "backend descriptor",
	"cuBLASLt",      "product",
	"matrix layout", "preference",
	"communicator",
};

static void begin(const struct fake_cuda_options *options)
{
	fake.options = *options;
	if (fake.options.bytes == 0)
		fake.options.bytes = (size_t)1 << 30;
	fake.opened = true;
}

void fake_cuda_open(const struct fake_cuda_options *options)
{
	if (fake.opened)
		abort();
	begin(options);
}

/* For programs that do not know what is behind their table. */
static void report_at_exit(void)
{
	char text[FAKE_CUDA_TEXT];

	if (fake_cuda_close(text))
		return;
	fprintf(stderr, "fake_cuda: %s\n", text);
	fflush(NULL);
	_exit(99);
}

static void begin_alone(void)
{
	const char *devices = getenv("FAKE_CUDA_DEVICES");
	struct fake_cuda_options options = {.devices = devices ? atoi(devices) : 2,
					    .late = getenv("FAKE_CUDA_LATE") != NULL};

	begin(&options);
	if (!fake.reported)
		atexit(report_at_exit);
	fake.reported = true;
}

void fake_lock(void)
{
	pthread_mutex_lock(&lock);
	if (!fake.opened)
		begin_alone();
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void fake_wait(void)
{
	struct timespec until;

	/* A limit, for a thread that no other thread wakes. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 2000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&fake.changed, &lock, &until);
}

int fault(int status, const char *format, ...)
{
	va_list args;

	if (fake.fault[0] == '\0') {
		va_start(args, format);
		vsnprintf(fake.fault, sizeof(fake.fault), format, args);
		va_end(args);
	}
	return status;
}

void *object_new(enum object_kind kind, size_t bytes)
{
	struct object *object = calloc(1, bytes);

	if (!object)
		abort();
	*object = (struct object){.next = fake.objects, .kind = kind, .alive = true};
	object->device = device_current();
	fake.objects = object;
	return object;
}

void *object_get(enum object_kind kind, const void *object, const char *call)
{
	for (struct object *known = fake.objects; known; known = known->next) {
		if (known != object)
			continue;
		if (known->kind != kind)
			fault(0, "%s: %p is a %s, not a %s", call, object, kind_names[known->kind],
			      kind_names[kind]);
		else if (!known->alive)
			fault(0, "%s: the %s was destroyed before", call, kind_names[kind]);
		else
			return known;
		return NULL;
	}
	fault(0, "%s: %p is no %s", call, object, kind_names[kind]);
	return NULL;
}

void object_end(void *object)
{
	struct object *ended = object;

	ended->alive = false;
}

static void free_graph(struct CUgraph_st *graph)
{
	for (int i = 0; i < graph->count; i++)
		free(graph->nodes[i]);
	free(graph->nodes);
}

static void free_stream(struct CUstream_st *stream)
{
	for (struct work *next, *work = stream->first; work; work = next) {
		next = work->next;
		free(work);
	}
}

static void free_objects(char *text)
{
	for (struct object *next, *object = fake.objects; object; object = next) {
		next = object->next;
		if (object->alive && text[0] == '\0')
			snprintf(text, FAKE_CUDA_TEXT, "a %s of device %d was not destroyed",
				 kind_names[object->kind], object->device);
		if (object->kind == OBJECT_GRAPH)
			free_graph((struct CUgraph_st *)(void *)object);
		else if (object->kind == OBJECT_STREAM)
			free_stream((struct CUstream_st *)(void *)object);
		free(object);
	}
}

bool fake_cuda_close(char *text)
{
	pthread_mutex_lock(&lock);
	snprintf(text, FAKE_CUDA_TEXT, "%s", fake.fault);
	free_objects(text);
	nccl_close();
	memory_close(text);
	fake = (struct fake){.changed = PTHREAD_COND_INITIALIZER, .reported = fake.reported};
	pthread_mutex_unlock(&lock);
	return text[0] == '\0';
}

const char *fake_cuda_fault(void)
{
	return fake.fault;
}

void fake_cuda_forgive(void)
{
	fake.fault[0] = '\0';
}

uint64_t fake_cuda_made(enum cuda_call call)
{
	return fake.made[call];
}

bool fake_cuda_has_context(int device)
{
	return fake.devices[device].context;
}

size_t fake_cuda_used(int device)
{
	return fake.devices[device].used;
}

void fake_cuda_hang(int device)
{
	fake_lock();
	fake.devices[device].hangs = true;
	fake_unlock();
}

void fake_cuda_break(int device, cudaError_t status)
{
	fake_lock();
	fake.devices[device].broken = status;
	pthread_cond_broadcast(&fake.changed);
	fake_unlock();
}
