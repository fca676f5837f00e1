/* SPDX-License-Identifier: MIT */
/* Order between streams, and steps as graphs. */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "backend/eventcount.h"
#include "base/clock.h"
#include "memory.h"

/* CUDA treats an event that was never recorded as one that has occurred. Therefore the host counts
 * recordings. */
struct event {
	struct cuda_device *device;
	cudaEvent_t event;
	struct eventcount recorded;
};

struct recording {
	struct cuda_device *device;
	cudaGraphExec_t graph;
};

bool cuda_event_new(struct event **event, struct device *device, struct train_error *error)
{
	struct cuda_device *d = (struct cuda_device *)device;
	struct event *made = xcalloc(1, sizeof(*made));

	eventcount_init(&made->recorded);
	made->device = d;
	if (!cuda_use(d, error) || !CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags,
					    (&made->event, cudaEventDisableTiming), error)) {
		eventcount_destroy(&made->recorded);
		free(made);
		return false;
	}
	*event = made;
	return true;
}

bool cuda_event_record(struct event *event, struct train_error *error)
{
	struct cuda_device *d = event->device;

	if (!cuda_use(d, error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventRecord, (event->event, d->stream), error))
		return false;
	eventcount_advance(&event->recorded);
	return true;
}

void cuda_event_abort(struct event *event)
{
	eventcount_abort(&event->recorded);
}

/* A later recording than the awaited one comes after it on the same stream. */
bool cuda_event_wait(struct device *device, struct event *event, uint64_t times,
		     struct train_error *error)
{
	struct cuda_device *d = (struct cuda_device *)device;

	if (!eventcount_await(&event->recorded, times))
		return train_fail(error, TRAIN_FAILED,
				  "%s: another device failed, which ends this wait; see the "
				  "message of that device",
				  d->where);
	return cuda_use(d, error) &&
	       CUDA_DO(d, RUNTIME, cudaStreamWaitEvent, (d->stream, event->event, 0), error);
}

void cuda_event_free(struct event *event)
{
	if (!event)
		return;
	cuda_use_last(event->device);
	CUDA_END(event->device, RUNTIME, cudaEventDestroy, (event->event));
	eventcount_destroy(&event->recorded);
	free(event);
}

bool cuda_finish(struct device *device, struct train_error *error)
{
	return cuda_wait_stream((struct cuda_device *)device, error);
}

/* If issue() fails, its error is the reason; an aborted capture has its own. */
static bool capture(struct cuda_device *d, cudaGraph_t *graph,
		    bool (*issue)(void *argument, struct train_error *error), void *argument,
		    struct train_error *error)
{
	struct train_error ignored = TRAIN_TOLERATED;
	bool issued;

	if (!CUDA_DO(d, RUNTIME, cudaStreamBeginCapture,
		     (d->stream, cudaStreamCaptureModeThreadLocal), error))
		return false;
	issued = issue(argument, error);
	return CUDA_DO(d, RUNTIME, cudaStreamEndCapture, (d->stream, graph),
		       issued ? error : &ignored) &&
	       issued;
}

/* Each operation keeps the priority of its stream: sums between GPUs come before computation. */
bool cuda_recording_new(struct recording **step, struct device *device,
			bool (*issue)(void *argument, struct train_error *error), void *argument,
			struct train_error *error)
{
	struct cuda_device *d = (struct cuda_device *)device;
	struct recording *made = xcalloc(1, sizeof(*made));
	cudaGraph_t graph = NULL;
	bool done;

	made->device = d;
	done = cuda_use(d, error) && capture(d, &graph, issue, argument, error) &&
	       CUDA_DO(d, RUNTIME, cudaGraphInstantiate,
		       (&made->graph, graph, cudaGraphInstantiateFlagUseNodePriority), error) &&
	       CUDA_DO(d, RUNTIME, cudaGraphUpload, (made->graph, d->stream), error);
	if (graph)
		CUDA_END(d, RUNTIME, cudaGraphDestroy, (graph));
	if (!done) {
		cuda_recording_free(made);
		return false;
	}
	*step = made;
	return true;
}

bool cuda_recording_run(struct recording *step, struct train_error *error)
{
	struct cuda_device *d = step->device;

	return cuda_use(d, error) &&
	       CUDA_DO(d, RUNTIME, cudaGraphLaunch, (step->graph, d->stream), error);
}

/* CUDA frees an executable graph that still runs when it ends. */
void cuda_recording_free(struct recording *step)
{
	cuda_use_last(step->device);
	if (step->graph)
		CUDA_END(step->device, RUNTIME, cudaGraphExecDestroy, (step->graph));
	free(step);
}

/* --- marks of time --------------------------------------------------------------------------- */

/* The number of events, and how many are made before the first mark. */
enum { MAX_MARKS = 1 << 16, MARKS_READY = 1 << 10 };

/* CUDA gives times in ms since another event, as floats. That event is recorded again whenever
 * marks are forgotten, so that the times stay small. The host knows when the first one occurred;
 * later ones are relative to it. */
struct cuda_marks {
	int made, used; /* events */
	bool begun;
	int64_t begin_ns;
	cudaEvent_t begin, next, events[MAX_MARKS];
};

/* Makes events until there are `count`, the first included. */
static bool make_events(struct cuda_device *d, int count, struct train_error *error)
{
	struct cuda_marks *marks = d->marks;

	if (!marks->begin && !CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags,
				      (&marks->begin, cudaEventDefault), error))
		return false;
	if (!marks->next &&
	    !CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags, (&marks->next, cudaEventDefault), error))
		return false;
	for (; marks->made < count; marks->made++)
		if (!CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags,
			     (&marks->events[marks->made], cudaEventDefault), error))
			return false;
	return true;
}

static bool begin_marks(struct cuda_device *d, struct train_error *error)
{
	struct cuda_marks *marks = d->marks ? d->marks : xcalloc(1, sizeof(*marks));
	cudaEvent_t before;
	float ms = 0;

	d->marks = marks;
	marks->used = 0;
	if (!make_events(d, MARKS_READY, error) || !cuda_wait_stream(d, error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventRecord, (marks->next, d->stream), error) ||
	    !cuda_wait_event(d, marks->next, error))
		return false;
	if (marks->begun &&
	    !CUDA_DO(d, RUNTIME, cudaEventElapsedTime, (&ms, marks->begin, marks->next), error))
		return false;
	marks->begin_ns = marks->begun ? marks->begin_ns + (int64_t)((double)ms * 1e6) : clock_ns();
	marks->begun = true;
	before = marks->begin;
	marks->begin = marks->next;
	marks->next = before;
	return true;
}

static bool begun(const struct cuda_device *d)
{
	return d->marks && d->marks->begun;
}

/* A missing time in a time line does not end a training run: the mark is 0. */
int64_t cuda_mark_on(struct cuda_device *d, cudaStream_t stream)
{
	struct train_error error = TRAIN_TOLERATED;
	struct cuda_marks *marks;

	if (!cuda_use(d, &error) || (!begun(d) && !begin_marks(d, &error)))
		return 0;
	marks = d->marks;
	if (marks->used == MAX_MARKS || !make_events(d, marks->used + 1, &error))
		return 0;
	if (!CUDA_DO(d, RUNTIME, cudaEventRecord, (marks->events[marks->used], stream), &error))
		return 0;
	return ++marks->used;
}

int64_t cuda_mark(struct device *device)
{
	struct cuda_device *d = (struct cuda_device *)device;

	return cuda_mark_on(d, d->stream);
}

int64_t cuda_mark_ns(struct device *device, int64_t mark)
{
	struct cuda_device *d = (struct cuda_device *)device;
	struct train_error error = TRAIN_TOLERATED;
	struct cuda_marks *marks = d->marks;
	float ms = 0;

	/* Marks are made here, so that no measured step waits for it. */
	if (mark == 0 && (!begun(d) || marks->used > 0) && cuda_use(d, &error))
		begin_marks(d, &error);
	if (!marks || mark < 1 || mark > marks->made || !cuda_use(d, &error) ||
	    !cuda_wait_event(d, marks->events[mark - 1], &error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventElapsedTime, (&ms, marks->begin, marks->events[mark - 1]),
		     &error))
		return 0;
	return marks->begin_ns + (int64_t)((double)ms * 1e6);
}

void cuda_marks_free(struct cuda_device *d)
{
	struct cuda_marks *marks = d->marks;

	if (!marks)
		return;
	for (int i = 0; i < marks->made; i++)
		CUDA_END(d, RUNTIME, cudaEventDestroy, (marks->events[i]));
	if (marks->begin)
		CUDA_END(d, RUNTIME, cudaEventDestroy, (marks->begin));
	if (marks->next)
		CUDA_END(d, RUNTIME, cudaEventDestroy, (marks->next));
	free(marks);
	d->marks = NULL;
}
