/* SPDX-License-Identifier: MIT */
/* The thread polls without a pause for a short while, then sleeps between polls. */
#include "config.h"

#include "backend/cuda/cuda.h"
#include "base/clock.h"

#include <time.h>

enum { SPIN_NS = 200000, PAUSE_NS = 20000, WATCH_NS = 1000000 };

/* An event, or the device's stream. */
static cudaError_t ask(struct cuda_device *d, cudaEvent_t event)
{
	cudaError_t status =
		event ? d->calls->cudaEventQuery(event) : d->calls->cudaStreamQuery(d->stream);

	/* "Not ready" is not an error of this thread. */
	if (status == cudaErrorNotReady)
		d->calls->cudaGetLastError();
	return status;
}

static bool wait_for(struct cuda_device *d, cudaEvent_t event, struct train_error *error)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const struct device_watch *watch = &d->base.watch;
	int64_t begin = clock_ns(), watched = begin, now;

	for (;;) {
		cudaError_t status = ask(d, event);

		if (status != cudaErrorNotReady)
			return cuda_done(d, CUDA_LIBRARY_RUNTIME, (int)status,
					 event ? "cudaEventQuery" : "cudaStreamQuery", error);
		now = clock_ns();
		if (now - watched >= WATCH_NS) {
			watched = now;
			if (!watch->good(watch->argument, now - begin, error))
				return false;
		}
		if (now - begin > SPIN_NS)
			nanosleep(&pause, NULL);
	}
}

bool cuda_wait_stream(struct cuda_device *d, struct train_error *error)
{
	if (!cuda_use(d, error))
		return false;
	if (d->base.watch.good)
		return wait_for(d, NULL, error);
	return CUDA_DO(d, RUNTIME, cudaStreamSynchronize, (d->stream), error);
}

bool cuda_wait_event(struct cuda_device *d, cudaEvent_t event, struct train_error *error)
{
	if (!cuda_use(d, error))
		return false;
	if (d->base.watch.good)
		return wait_for(d, event, error);
	return CUDA_DO(d, RUNTIME, cudaEventSynchronize, (event), error);
}
