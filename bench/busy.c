/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "bench/busy.h"

struct busy_comm {
	struct communicator base;
	struct busy *busy;
	struct cuda_device *device;
	cudaStream_t stream;
	cudaEvent_t forked, done;
	bool behind, fresh;                  /* as in struct nccl_lane */
	cudaEvent_t ready[MAX_BUCKETS], end; /* marks */
	int sums, buckets;                   /* in the current step, and in the step before */
};

static struct busy_comm *of(struct communicator *comm)
{
	return (struct busy_comm *)(void *)comm;
}

struct rendezvous *busy_rendezvous(struct busy *busy)
{
	return (struct rendezvous *)(void *)busy;
}

static bool event_new(struct busy_comm *c, cudaEvent_t *event, unsigned flags,
		      struct train_error *error)
{
	return CUDA_DO(c->device, RUNTIME, cudaEventCreateWithFlags, (event, flags), error);
}

static void event_end(struct busy_comm *c, cudaEvent_t event)
{
	if (event)
		CUDA_END(c->device, RUNTIME, cudaEventDestroy, (event));
}

static void busy_close(struct communicator *comm)
{
	struct busy_comm *c = of(comm);

	cuda_use_last(c->device);
	event_end(c, c->forked);
	event_end(c, c->done);
	event_end(c, c->end);
	for (int i = 0; i < MAX_BUCKETS; i++)
		event_end(c, c->ready[i]);
	if (c->stream)
		CUDA_END(c->device, RUNTIME, cudaStreamDestroy, (c->stream));
	c->busy->comm = NULL;
	free(c);
}

static bool open_stream(struct busy_comm *c, struct train_error *error)
{
	int least, greatest;

	return CUDA_DO(c->device, RUNTIME, cudaDeviceGetStreamPriorityRange, (&least, &greatest),
		       error) &&
	       CUDA_DO(c->device, RUNTIME, cudaStreamCreateWithPriority,
		       (&c->stream, cudaStreamNonBlocking, greatest), error) &&
	       event_new(c, &c->forked, cudaEventDisableTiming, error) &&
	       event_new(c, &c->done, cudaEventDisableTiming, error);
}

static bool open_marks(struct busy_comm *c, struct train_error *error)
{
	bool done = event_new(c, &c->end, cudaEventDefault, error);

	for (int i = 0; done && i < MAX_BUCKETS; i++)
		done = event_new(c, &c->ready[i], cudaEventDefault, error);
	return done;
}

static bool busy_open(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		      struct device *device, struct train_error *error)
{
	struct busy *busy = (struct busy *)(void *)rendezvous;
	struct busy_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return train_nomem(error, "a communicator");
	c->base = (struct communicator){&busy->calls, rank, 1, device, 0};
	c->busy = busy;
	c->device = (struct cuda_device *)device;
	busy->comm = c;
	if (!cuda_use(c->device, error) || !open_stream(c, error) ||
	    (busy->what == BUSY_MARKS && !open_marks(c, error))) {
		busy_close(&c->base);
		return false;
	}
	*comm = &c->base;
	return true;
}

/* --- a step --------------------------------------------------------------------------------- */

static bool busy_fork(struct communicator *comm, struct train_error *error)
{
	struct busy_comm *c = of(comm);

	if (c->busy->what != BUSY_KERNEL)
		return true;
	c->behind = true;
	return cuda_use(c->device, error) &&
	       CUDA_DO(c->device, RUNTIME, cudaEventRecord, (c->forked, c->device->stream), error);
}

/* In a recorded step: a node that takes the time of each run. */
static bool mark(struct busy_comm *c, cudaEvent_t event, struct train_error *error)
{
	enum cudaStreamCaptureStatus status;

	if (!cuda_use(c->device, error) || !CUDA_DO(c->device, RUNTIME, cudaStreamIsCapturing,
						    (c->device->stream, &status), error))
		return false;
	return CUDA_DO(c->device, RUNTIME, cudaEventRecordWithFlags,
		       (event, c->device->stream,
			status == cudaStreamCaptureStatusNone ? cudaEventRecordDefault
							      : cudaEventRecordExternal),
		       error);
}

static bool busy_all_reduce(struct communicator *comm, float *values, int64_t count,
			    const char *what, struct train_error *error)
{
	struct busy_comm *c = of(comm);
	int index = c->sums++;

	if (c->busy->what == BUSY_NOTHING)
		return true;
	if (c->busy->what == BUSY_MARKS)
		return mark(c, c->ready[index], error);
	if (!cuda_use(c->device, error) ||
	    (c->behind &&
	     !CUDA_DO(c->device, RUNTIME, cudaStreamWaitEvent, (c->stream, c->forked, 0), error)))
		return false;
	c->behind = false;
	c->fresh = true;
	return CUDA_DO(c->device, KERNELS, kernel_busy, (&c->busy->args, c->stream), error) &&
	       CUDA_DO(c->device, RUNTIME, cudaEventRecord, (c->done, c->stream), error);
}

static bool busy_join(struct communicator *comm, struct train_error *error)
{
	struct busy_comm *c = of(comm);
	bool fresh = c->fresh;

	c->buckets = c->sums;
	c->sums = 0;
	c->fresh = false;
	if (c->busy->what == BUSY_MARKS)
		return mark(c, c->end, error);
	return !fresh ||
	       (cuda_use(c->device, error) && CUDA_DO(c->device, RUNTIME, cudaStreamWaitEvent,
						      (c->device->stream, c->done, 0), error));
}

void busy_init(struct busy *busy, enum busy_what what, const struct busy_args *args)
{
	*busy = (struct busy){.what = what, .args = *args, .calls = collective_self};
	busy->calls.name = "busy";
	busy->calls.waits = false;
	busy->calls.open = busy_open;
	busy->calls.close = busy_close;
	busy->calls.fork = busy_fork;
	busy->calls.join = busy_join;
	busy->calls.all_reduce = busy_all_reduce;
}

/* --- what is measured ----------------------------------------------------------------------- */

int busy_ready(const struct busy *busy, double ready[MAX_BUCKETS], struct train_error *error)
{
	struct busy_comm *c = busy->comm;

	if (!cuda_use(c->device, error))
		return -1;
	for (int i = 0; i < c->buckets; i++) {
		float ms = 0;

		if (!CUDA_DO(c->device, RUNTIME, cudaEventElapsedTime, (&ms, c->ready[i], c->end),
			     error))
			return -1;
		ready[i] = -1e3 * (double)ms;
	}
	return c->buckets;
}

bool busy_alone(struct device *device, const struct busy_args *args, struct train_error *error)
{
	struct cuda_device *d = (struct cuda_device *)device;

	return CUDA_KERNEL(d, busy, args, error);
}
