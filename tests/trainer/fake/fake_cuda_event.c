/* SPDX-License-Identifier: MIT */
/* Events: places in streams, to wait for and to measure between. */
#include "config.h"

#include <time.h>

#include "fake_cuda_private.h"

struct mark {
	struct CUevent_st *event;
	uint64_t count; /* the number of this recording */
};

static void record_run(struct work *work)
{
	struct mark *mark = (void *)work->data;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	mark->event->done = mark->count;
	mark->event->ms = fake.devices[work->device].ms;
	if (!fake.options.simulated_time)
		mark->event->ms += (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool wait_ready(struct work *work)
{
	struct mark *mark = (void *)work->data;

	return mark->event->done >= mark->count || fake.devices[work->device].broken;
}

static void wait_run(struct work *work)
{
}

/* A node of a graph, which records anew in each run. */
static void record_again(struct work *work)
{
	struct mark *mark = (void *)work->data;

	mark->count = ++mark->event->recorded;
	mark->event->clock = work->clock;
	record_run(work);
}

static const struct work_kind record_again_kind = {.name = "record", .run = record_again};
static const struct work_kind record_kind = {.name = "record", .run = record_run};
static const struct work_kind wait_kind = {.name = "wait", .run = wait_run, .ready = wait_ready};

static cudaEvent_t get(cudaEvent_t event, const char *call)
{
	return object_get(OBJECT_EVENT, event, call);
}

cudaError_t fake_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	cudaError_t status = device_state(device_current());
	struct CUevent_st *made;

	if (status != cudaSuccess)
		return status;
	if (flags & ~(unsigned int)(cudaEventBlockingSync | cudaEventDisableTiming))
		return cudaErrorInvalidValue;
	made = object_new(OBJECT_EVENT, sizeof(*made));
	made->flags = flags;
	*event = made;
	return cudaSuccess;
}

cudaError_t fake_cudaEventDestroy(cudaEvent_t event)
{
	event = get(event, "cudaEventDestroy");
	if (!event)
		return cudaErrorInvalidResourceHandle;
	object_end(event);
	return cudaSuccess;
}

/* Whether both exist and are of the same device. */
static bool of_one_device(cudaEvent_t *event, cudaStream_t *stream, const char *call)
{
	*event = get(*event, call);
	*stream = stream_get(*stream, call);
	if (!*event || !*stream)
		return false;
	if ((*event)->object.device == (*stream)->object.device)
		return true;
	fault(0, "%s: the event is of device %d and the stream of device %d", call,
	      (*event)->object.device, (*stream)->object.device);
	return false;
}

cudaError_t fake_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct mark mark;
	cudaError_t status;

	if (!of_one_device(&event, &stream, "cudaEventRecord"))
		return cudaErrorInvalidResourceHandle;
	if (capture_record(event, stream, &status))
		return status;
	mark = (struct mark){event, event->recorded + 1};
	event->graph = NULL;
	event->recorded++;
	status = stream_put(stream, work_new(&record_kind, "cudaEventRecord", &mark, sizeof(mark)),
			    false);
	event->clock = stream->clock;
	return status;
}

/* An external event is not part of the capture: no work of it waits, and the host may query it. */
cudaError_t fake_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
					  unsigned int flags)
{
	static const char name[] = "cudaEventRecordWithFlags";
	struct mark mark;

	if (flags == cudaEventRecordDefault)
		return fake_cudaEventRecord(event, stream);
	if (!of_one_device(&event, &stream, name))
		return cudaErrorInvalidResourceHandle;
	if (flags != cudaEventRecordExternal)
		return cudaErrorInvalidValue;
	if (!stream->graph)
		return (cudaError_t)fault(cudaErrorIllegalState,
					  "%s: an external event outside of a capture", name);
	mark = (struct mark){.event = event};
	return stream_put(stream, work_new(&record_again_kind, name, &mark, sizeof(mark)), false);
}

cudaError_t fake_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	struct mark mark;
	cudaError_t status;

	event = get(event, "cudaStreamWaitEvent");
	stream = stream_get(stream, "cudaStreamWaitEvent");
	if (!event || !stream)
		return cudaErrorInvalidResourceHandle;
	if (flags != cudaEventWaitDefault)
		return cudaErrorInvalidValue;
	if (capture_wait(stream, event, &status))
		return status;
	if (event->recorded == 0)
		return cudaSuccess;
	mark = (struct mark){event, event->recorded};
	clock_join(&stream->clock, &event->clock);
	return stream_put(stream, work_new(&wait_kind, "cudaStreamWaitEvent", &mark, sizeof(mark)),
			  false);
}

/* Whether the host may ask it now. */
static cudaError_t askable(cudaEvent_t event)
{
	cudaError_t status = capture_refuses();

	if (!event)
		return cudaErrorInvalidResourceHandle;
	if (status == cudaSuccess && event->graph) {
		if (event->graph->open)
			capture_spoil(event->graph);
		status = cudaErrorCapturedEvent;
	}
	return status;
}

static cudaError_t asked(cudaEvent_t event)
{
	if (event->recorded > 0)
		clock_join(&fake.host, &event->clock);
	return cudaSuccess;
}

cudaError_t fake_cudaEventQuery(cudaEvent_t event)
{
	cudaError_t status;

	event = get(event, "cudaEventQuery");
	status = askable(event);
	if (status != cudaSuccess)
		return status;
	/* Work is as late as possible: each query does one more piece. */
	if (event->done < event->recorded)
		stream_step();
	status = device_state(event->object.device);
	if (status != cudaSuccess)
		return status;
	return event->done < event->recorded ? cudaErrorNotReady : asked(event);
}

cudaError_t fake_cudaEventSynchronize(cudaEvent_t event)
{
	cudaError_t status;

	event = get(event, "cudaEventSynchronize");
	status = askable(event);
	if (status != cudaSuccess)
		return status;
	while (event->done < event->recorded) {
		status = device_state(event->object.device);
		if (status != cudaSuccess)
			return status;
		if (!stream_step())
			fake_wait();
	}
	status = device_state(event->object.device);
	return status == cudaSuccess ? asked(event) : status;
}

cudaError_t fake_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	start = get(start, "cudaEventElapsedTime");
	end = get(end, "cudaEventElapsedTime");
	if (!start || !end || start->object.device != end->object.device ||
	    ((start->flags | end->flags) & cudaEventDisableTiming) || start->recorded == 0 ||
	    end->recorded == 0)
		return cudaErrorInvalidResourceHandle;
	if (start->graph || end->graph)
		return cudaErrorCapturedEvent;
	if (start->done < start->recorded || end->done < end->recorded)
		return cudaErrorNotReady;
	*ms = (float)(end->ms - start->ms);
	return cudaSuccess;
}
