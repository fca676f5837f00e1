/* SPDX-License-Identifier: MIT */
/* Devices of CUDA: which one it is, its stream and its libraries. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "hash.h"
#include "memory.h"

static struct cuda_device *own(struct device *device)
{
	return (struct cuda_device *)device;
}

/* --- the libraries --------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t mutex;
	bool loaded;
	struct cuda_calls calls;
} libraries = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool load(struct cuda_calls *calls, struct train_error *error)
{
	static const enum cuda_library needed[] = {CUDA_LIBRARY_RUNTIME, CUDA_LIBRARY_KERNELS,
						   CUDA_LIBRARY_CUBLASLT, CUDA_LIBRARY_CUDNN};
	int count;

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		/* Without a GPU cuDNN's half a gigabyte is not loaded. */
		if (!cuda_calls_load(calls, needed[i], error) ||
		    (i == 0 && !cuda_calls_devices(calls, &count, error)))
			return false;
	return true;
}

const struct cuda_calls *cuda_calls_get(struct train_error *error)
{
	pthread_mutex_lock(&libraries.mutex);
	if (!libraries.loaded)
		libraries.loaded = load(&libraries.calls, error);
	pthread_mutex_unlock(&libraries.mutex);
	return libraries.loaded ? &libraries.calls : NULL;
}

/* --- which GPU ------------------------------------------------------------------------------- */

static void uuid_text(char text[CUDA_UUID], const cudaUUID_t *uuid)
{
	const unsigned char *b = (const unsigned char *)uuid->bytes;

	snprintf(text, CUDA_UUID,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		 b[14], b[15]);
}

/* Searches by UUID if it is known: this process may have another visible list than the one that the
 * mapping was made from. In CUDA a MIG instance has the PCI address of its GPU. */
static bool find(struct cuda_device *d, const struct device_options *options,
		 struct train_error *error)
{
	bool by_uuid = options->uuid && strncmp(options->uuid, "GPU-", 4) == 0;
	struct cudaDeviceProp properties;
	char uuid[CUDA_UUID];
	int count;

	if (!cuda_calls_devices(d->calls, &count, error))
		return false;
	d->ordinal = options->logical;
	for (int i = 0; by_uuid && i < count; i++) {
		if (!CUDA_DO(d, RUNTIME, cudaGetDeviceProperties, (&properties, i), error))
			return false;
		uuid_text(uuid, &properties.uuid);
		if (strcasecmp(uuid, options->uuid) != 0)
			continue;
		d->ordinal = i;
		return true;
	}
	if (!by_uuid && d->ordinal >= 0 && d->ordinal < count)
		return true;
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s, %s: CUDA shows this process %d GPU%s, but not this one; look at "
			  "CUDA_VISIBLE_DEVICES",
			  d->where, by_uuid ? options->uuid : "without a UUID", count,
			  count == 1 ? "" : "s");
}

/* A hash of the properties that decide which algorithms are fast. */
static uint64_t kind_of(const struct cudaDeviceProp *p)
{
	const int numbers[] = {p->major, p->minor, p->multiProcessorCount};

	return hash_bytes(hash_text(HASH_START, p->name), numbers, sizeof(numbers));
}

static bool describe(struct cuda_device *d, struct train_error *error)
{
	struct cudaDeviceProp properties;

	if (!CUDA_DO(d, RUNTIME, cudaGetDeviceProperties, (&properties, d->ordinal), error) ||
	    !CUDA_DO(d, RUNTIME, cudaDeviceGetPCIBusId, (d->pci, (int)sizeof(d->pci), d->ordinal),
		     error))
		return false;
	uuid_text(d->uuid, &properties.uuid);
	snprintf(d->where, sizeof(d->where), "GPU %d (%s, %s)", d->base.physical, d->pci, d->uuid);
	d->base.pci = d->pci;
	d->base.uuid = d->uuid;
	d->has_bfloat16 = properties.major >= 8;
	d->kind = kind_of(&properties);
	return true;
}

/* --- opening --------------------------------------------------------------------------------- */

static bool open_events(struct cuda_device *d, cudaEvent_t *events, int count,
			struct train_error *error)
{
	for (int i = 0; i < count; i++)
		if (!CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags,
			     (&events[i], cudaEventDisableTiming), error))
			return false;
	return true;
}

static void close_events(struct cuda_device *d, const cudaEvent_t *events, int count)
{
	for (int i = 0; i < count; i++)
		if (events[i])
			CUDA_END(d, RUNTIME, cudaEventDestroy, (events[i]));
}

/* Of the stream that computes: before an update beside backward (cuda/optimize.c), and after sums
 * that other ranks wait for. */
enum { PRIORITY = -1 };

static bool open_streams(struct cuda_device *d, struct train_error *error)
{
	cudaStream_t *const streams[] = {&d->stream, &d->inputs, &d->outputs};

	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		if (!CUDA_DO(d, RUNTIME, cudaStreamCreateWithPriority,
			     (streams[i], cudaStreamNonBlocking, i == 0 ? PRIORITY : 0), error))
			return false;
	if (!CUDA_DO(d, RUNTIME, cudaMallocHost,
		     ((void **)&d->results, (size_t)MAX_FETCH * FETCH_BYTES), error) ||
	    !CUDA_DO(d, RUNTIME, cudaMallocHost,
		     ((void **)&d->writing, (size_t)CUDA_WRITES * CUDA_WRITE_BYTES), error))
		return false;
	return open_events(d, d->fetched, MAX_FETCH, error) &&
	       open_events(d, &d->computed, 1, error) &&
	       open_events(d, d->written, CUDA_WRITES, error) &&
	       open_events(d, d->before_inputs, 2, error) &&
	       open_events(d, &d->inputs_written, 1, error);
}

static void close_libraries(struct cuda_device *d)
{
	cuda_captures_lock();
	if (d->cublaslt)
		CUDA_END(d, CUBLASLT, cublasLtDestroy, (d->cublaslt));
	if (d->cudnn)
		CUDA_END(d, CUDNN, cudnnDestroy, (d->cudnn));
	cuda_captures_unlock();
}

static void cuda_close(struct device *device)
{
	struct cuda_device *d = own(device);

	cudaStream_t streams[] = {d->stream, d->inputs, d->outputs};
	enum { STREAMS = sizeof(streams) / sizeof(*streams) };

	cuda_use_last(d);
	for (int i = 0; i < STREAMS; i++)
		if (streams[i])
			CUDA_END(d, RUNTIME, cudaStreamSynchronize, (streams[i]));
	close_libraries(d);
	cuda_marks_free(d);
	cuda_release(device, d->workspace);
	cuda_release(device, d->scratch);
	close_events(d, d->fetched, MAX_FETCH);
	close_events(d, &d->computed, 1);
	close_events(d, d->written, CUDA_WRITES);
	close_events(d, d->before_inputs, 2);
	close_events(d, &d->inputs_written, 1);
	if (d->writing)
		CUDA_END(d, RUNTIME, cudaFreeHost, (d->writing));
	if (d->results)
		CUDA_END(d, RUNTIME, cudaFreeHost, (d->results));
	for (int i = 0; i < STREAMS; i++)
		if (streams[i])
			CUDA_END(d, RUNTIME, cudaStreamDestroy, (streams[i]));
	free(d);
}

static bool cuda_open(struct device **device, const struct device_options *options,
		      struct train_error *error)
{
	const struct cuda_calls *calls = cuda_calls_get(error);
	struct cuda_device *d;

	if (!calls)
		return false;
	d = xcalloc(1, sizeof(*d));
	d->base.backend = &backend_cuda;
	d->base.physical = options->physical;
	d->calls = calls;
	d->exact = options->exact;
	d->deterministic = options->deterministic;
	snprintf(d->where, sizeof(d->where), "GPU %d", options->physical);
	if (!find(d, options, error)) {
		free(d);
		return false;
	}
	if (!describe(d, error) || !cuda_use(d, error) || !open_streams(d, error)) {
		cuda_close(&d->base);
		return false;
	}
	*device = &d->base;
	return true;
}

static bool cuda_ready(struct train_error *error)
{
	return cuda_calls_get(error);
}

static bool cuda_has_type(struct device *device, enum value_type type)
{
	return type == VALUE_FLOAT32 || type == VALUE_FLOAT16 ||
	       (type == VALUE_BFLOAT16 && own(device)->has_bfloat16);
}

const struct backend backend_cuda = {
	.name = "cuda",
	.ahead = 1,
	.pool_sums = true,
	.ready = cuda_ready,
	.open = cuda_open,
	.close = cuda_close,
	.has_type = cuda_has_type,
	.allocate = cuda_allocate,
	.allocate_zeros = cuda_allocate_zeros,
	.release = cuda_release,
	.write = cuda_write,
	.write_ahead = cuda_write_ahead,
	.read = cuda_read,
	.copy = cuda_copy,
	.zero = cuda_zero,
	.fetch = cuda_fetch,
	.take = cuda_take,
	.add = cuda_add,
	.convolution = cuda_convolution,
	.convolution_pool = cuda_convolution_pool,
	.max_pool = cuda_max_pool,
	.mean_pool = cuda_mean_pool,
	.batch_norm = cuda_batch_norm,
	.addition = cuda_addition,
	.linear = cuda_linear,
	.convert = cuda_convert,
	.same_layout = cuda_same_layout,
	.loss = cuda_loss,
	.data_open = cuda_data_open,
	.data_fills = cuda_data_fills,
	.data_fill = cuda_data_fill,
	.data_close = cuda_data_close,
	.optimize_new = cuda_optimize_new,
	.optimize_measure = cuda_optimize_measure,
	.optimize_norm = cuda_optimize_norm,
	.optimize_run = cuda_optimize_run,
	.optimize_begin = cuda_optimize_begin,
	.optimize_early = cuda_optimize_early,
	.optimize_end = cuda_optimize_end,
	.optimize_state = cuda_optimize_state,
	.optimize_set_steps = cuda_optimize_set_steps,
	.optimize_free = cuda_optimize_free,
	.event_new = cuda_event_new,
	.event_record = cuda_event_record,
	.event_wait = cuda_event_wait,
	.event_abort = cuda_event_abort,
	.event_free = cuda_event_free,
	.mark = cuda_mark,
	.mark_ns = cuda_mark_ns,
	.finish = cuda_finish,
	.recording_new = cuda_recording_new,
	.recording_run = cuda_recording_run,
	.recording_free = cuda_recording_free,
};
