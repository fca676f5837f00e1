/* SPDX-License-Identifier: MIT */
/* Streams: work in its order, which is done when it can be, and the waits for it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fake_cuda_private.h"

void touch(struct touches *touches, const struct touch *touch)
{
	int room = touches->room ? 2 * touches->room : 32;
	struct touch *more;

	if (touches->count == touches->room) {
		more = realloc(touches->list, (size_t)room * sizeof(*more));
		if (!more)
			abort();
		touches->list = more;
		touches->room = room;
	}
	if (touch->bytes > 0)
		touches->list[touches->count++] = *touch;
}

struct work *work_new(const struct work_kind *kind, const char *what, const void *data,
		      size_t bytes)
{
	struct work *work = calloc(1, sizeof(*work) + bytes);

	if (!work)
		abort();
	work->kind = kind;
	work->what = what;
	work->bytes = bytes;
	memcpy(work->data, data, bytes);
	return work;
}

cudaStream_t stream_get(cudaStream_t stream, const char *call)
{
	if (!stream) {
		fault(0, "%s: the default stream waits for all others: it is not for us", call);
		return NULL;
	}
	return object_get(OBJECT_STREAM, stream, call);
}

cudaError_t fake_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
					      int priority)
{
	cudaError_t status = device_state(device_current());
	struct CUstream_st *made;
	int line = 0;

	if (status != cudaSuccess)
		return status;
	if (flags != cudaStreamNonBlocking)
		return (cudaError_t)fault(cudaErrorInvalidValue, "a stream that is not "
								 "cudaStreamNonBlocking");
	while (line < FAKE_LINES && fake.lines[line])
		line++;
	if (line == FAKE_LINES)
		abort();
	fake.lines[line] = true;
	made = object_new(OBJECT_STREAM, sizeof(*made));
	made->line = line;
	made->tick = fake.ticks[line];
	made->clock.at[line] = made->tick;
	made->last = &made->first;
	*stream = made;
	return cudaSuccess;
}

cudaError_t fake_cudaStreamDestroy(cudaStream_t stream)
{
	cudaError_t status;

	stream = stream_get(stream, "cudaStreamDestroy");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (stream->graph) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	/* The real one returns at once, and the work is done all the same. */
	status = stream_wait(stream);
	fake.lines[stream->line] = false;
	fake.ticks[stream->line] = stream->tick;
	object_end(stream);
	return status;
}

cudaError_t stream_put(cudaStream_t stream, struct work *work, bool current)
{
	struct touches touches = {.running = false};
	cudaError_t status = device_state(stream->object.device);
	bool good = true;

	if (current && device_current() != stream->object.device)
		status =
			(cudaError_t)fault(cudaErrorInvalidResourceHandle,
					   "%s: the stream is of device %d, and the thread's is %d",
					   work->what, stream->object.device, device_current());
	work->device = stream->object.device;
	if (status == cudaSuccess && work->kind->list) {
		work->kind->list(work, &touches);
		for (int i = 0; i < touches.count; i++)
			good = memory_check(&touches.list[i], work->what) && good;
	}
	free(touches.list);
	if (!good)
		status = cudaErrorIllegalAddress;
	if (status != cudaSuccess) {
		free(work);
		return status;
	}
	if (stream->graph)
		return capture_put(stream, work);
	clock_join(&stream->clock, &fake.host);
	stream->clock.at[stream->line] = ++stream->tick;
	work->line = stream->line;
	work->tick = stream->tick;
	work->clock = stream->clock;
	if (work->kind->put)
		work->kind->put(work);
	*stream->last = work;
	stream->last = &work->next;
	stream_work();
	return cudaSuccess;
}

static void run(struct work *work)
{
	struct touches touches = {.running = true};
	struct device *device = &fake.devices[work->device];
	bool good = true;

	if (device->broken == cudaSuccess && work->kind->list) {
		work->kind->list(work, &touches);
		for (int i = 0; i < touches.count; i++)
			good = memory_use(&touches.list[i], work) && good;
		free(touches.list);
	}
	if (!good)
		device->broken = cudaErrorIllegalAddress;
	if (device->broken == cudaSuccess || !work->kind->list)
		work->kind->run(work);
}

/* The first of the stream's work, if it can be done now. */
static bool advance(struct CUstream_st *stream)
{
	struct work *work = stream->first;

	if (!work || fake.devices[work->device].hangs ||
	    (work->kind->ready && !work->kind->ready(work)))
		return false;
	stream->first = work->next;
	if (!stream->first)
		stream->last = &stream->first;
	run(work);
	free(work);
	pthread_cond_broadcast(&fake.changed);
	return true;
}

bool stream_step(void)
{
	bool moved = false;

	for (struct object *object = fake.objects; object; object = object->next)
		if (object->kind == OBJECT_STREAM && object->alive)
			moved = advance((struct CUstream_st *)(void *)object) || moved;
	return moved;
}

void stream_work(void)
{
	while (!fake.options.late && stream_step())
		;
}

cudaError_t stream_wait(cudaStream_t stream)
{
	int device = stream->object.device;

	while (stream->first && fake.devices[device].broken == cudaSuccess)
		if (!advance(stream) && !stream_step())
			fake_wait();
	if (!stream->first)
		clock_join(&fake.host, &stream->clock);
	return device_state(device);
}

cudaError_t stream_drain(int device)
{
	cudaError_t status = cudaSuccess, of;

	for (struct object *object = fake.objects; object; object = object->next) {
		if (object->kind != OBJECT_STREAM || !object->alive ||
		    (device != FAKE_HOST && object->device != device))
			continue;
		of = stream_wait((struct CUstream_st *)(void *)object);
		if (status == cudaSuccess)
			status = of;
	}
	return status;
}

cudaError_t fake_cudaStreamSynchronize(cudaStream_t stream)
{
	cudaError_t status = capture_refuses();

	stream = stream_get(stream, "cudaStreamSynchronize");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (status != cudaSuccess)
		return status;
	if (stream->graph) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	return stream_wait(stream);
}

cudaError_t fake_cudaStreamQuery(cudaStream_t stream)
{
	cudaError_t status = capture_refuses();

	stream = stream_get(stream, "cudaStreamQuery");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (status != cudaSuccess)
		return status;
	if (stream->graph) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	stream_step();
	status = device_state(stream->object.device);
	if (status == cudaSuccess && stream->first)
		return cudaErrorNotReady;
	if (status == cudaSuccess)
		clock_join(&fake.host, &stream->clock);
	return status;
}
