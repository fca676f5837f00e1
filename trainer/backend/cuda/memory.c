/* SPDX-License-Identifier: MIT */
/* Memory of a device, and copies to, from and between devices. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "memory.h"

struct cuda_block {
	struct cuda_block *next;
	void *memory;
	size_t bytes;
};

static struct cuda_device *own(struct device *device)
{
	return (struct cuda_device *)device;
}

/* Lack of memory is the only failure with a remedy. */
static bool no_memory(struct cuda_device *d, size_t bytes, const char *what,
		      struct train_error *error)
{
	size_t available = 0, all = 0;

	if (d->calls->cudaMemGetInfo(&available, &all) != cudaSuccess)
		available = all = 0;
	return train_fail(
		error, TRAIN_FAILED,
		"%s: no memory for %zu bytes of %s beside %zu in use here: %zu of %zu "
		"are free; make the batch smaller, or find with nvidia-smi which process uses it",
		d->where, bytes, what, d->base.bytes, available, all);
}

bool cuda_try_allocate(struct cuda_device *d, size_t bytes, const char *what, void **memory,
		       struct train_error *error)
{
	struct cuda_block *block;
	cudaError_t status;

	*memory = NULL;
	if (!cuda_use(d, error))
		return false;
	block = xmalloc(sizeof(*block));
	status = d->calls->cudaMalloc(&block->memory, bytes);
	if (status != cudaSuccess) {
		free(block);
		if (status != cudaErrorMemoryAllocation)
			return cuda_done(d, CUDA_LIBRARY_RUNTIME, status, "cudaMalloc", error);
		d->calls->cudaGetLastError();
		return true;
	}
	block->bytes = bytes;
	block->next = d->blocks;
	d->blocks = block;
	d->base.bytes += bytes;
	if (d->base.bytes > d->base.peak_bytes)
		d->base.peak_bytes = d->base.bytes;
	*memory = block->memory;
	return true;
}

void *cuda_allocate(struct device *device, size_t bytes, const char *what,
		    struct train_error *error)
{
	void *memory;

	if (cuda_try_allocate(own(device), bytes, what, &memory, error) && !memory)
		no_memory(own(device), bytes, what, error);
	return memory;
}

void cuda_release(struct device *device, void *memory)
{
	struct cuda_device *d = own(device);
	struct cuda_block **at = &d->blocks, *block;

	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	block = *at;
	if (!memory || !block)
		return;
	*at = block->next;
	device->bytes -= block->bytes;
	cuda_use_last(d);
	CUDA_END(d, RUNTIME, cudaFree, (memory));
	free(block);
}

static bool transfer_on(struct cuda_device *d, cudaStream_t stream, void *to, const void *from,
			size_t bytes, enum cudaMemcpyKind kind, struct train_error *error)
{
	return bytes == 0 ||
	       (cuda_use(d, error) &&
		CUDA_DO(d, RUNTIME, cudaMemcpyAsync, (to, from, bytes, kind, stream), error));
}

static bool transfer(struct device *device, void *to, const void *from, size_t bytes,
		     enum cudaMemcpyKind kind, struct train_error *error)
{
	struct cuda_device *d = own(device);

	return transfer_on(d, d->stream, to, from, bytes, kind, error);
}

/* Later work on `later` waits for that on `before`. */
static bool follow(struct cuda_device *d, cudaStream_t before, cudaEvent_t event,
		   cudaStream_t later, struct train_error *error)
{
	return CUDA_DO(d, RUNTIME, cudaEventRecord, (event, before), error) &&
	       CUDA_DO(d, RUNTIME, cudaStreamWaitEvent, (later, event, 0), error);
}

/* Writes through the next slot of pinned memory, when it is free. The wait asks the device's
 * watcher. */
static bool write_piece(struct cuda_device *d, cudaStream_t stream, void *to, const void *host,
			size_t bytes, struct train_error *error)
{
	unsigned slot = d->writes % CUDA_WRITES;
	unsigned char *pinned = d->writing + (size_t)slot * CUDA_WRITE_BYTES;

	if (d->writes >= CUDA_WRITES && !cuda_wait_event(d, d->written[slot], error))
		return false;
	d->writes++;
	memcpy(pinned, host, bytes);
	return transfer_on(d, stream, to, pinned, bytes, cudaMemcpyHostToDevice, error) &&
	       CUDA_DO(d, RUNTIME, cudaEventRecord, (d->written[slot], stream), error);
}

static bool write_on(struct cuda_device *d, cudaStream_t stream, void *to, const void *host,
		     size_t bytes, struct train_error *error)
{
	if (bytes > 0 && !cuda_use(d, error))
		return false;
	for (size_t at = 0; at < bytes; at += CUDA_WRITE_BYTES) {
		size_t piece = bytes - at < CUDA_WRITE_BYTES ? bytes - at : CUDA_WRITE_BYTES;

		if (!write_piece(d, stream, (char *)to + at, (const char *)host + at, piece, error))
			return false;
	}
	return true;
}

bool cuda_write(struct device *device, void *to, const void *host, size_t bytes,
		struct train_error *error)
{
	struct cuda_device *d = own(device);

	return write_on(d, d->stream, to, host, bytes, error);
}

/* The first call has none before it, and waits for all work. */
bool cuda_write_ahead(struct device *device, void *to, const void *host, size_t bytes,
		      struct train_error *error)
{
	struct cuda_device *d = own(device);
	unsigned call = d->writes_ahead++;
	cudaEvent_t before = d->before_inputs[(call ? call - 1 : 0) % 2];

	return cuda_use(d, error) &&
	       CUDA_DO(d, RUNTIME, cudaEventRecord, (d->before_inputs[call % 2], d->stream),
		       error) &&
	       CUDA_DO(d, RUNTIME, cudaStreamWaitEvent, (d->inputs, before, 0), error) &&
	       write_on(d, d->inputs, to, host, bytes, error) &&
	       follow(d, d->inputs, d->inputs_written, d->stream, error);
}

bool cuda_read(struct device *device, void *host, const void *from, size_t bytes,
	       struct train_error *error)
{
	/* Here CUDA's copy to pageable memory would wait as well, but without the watcher. */
	return (!device->watch.good || cuda_finish(device, error)) &&
	       transfer(device, host, from, bytes, cudaMemcpyDeviceToHost, error) &&
	       cuda_finish(device, error);
}

/* Copies directly from GPU to GPU if they can, else through the host. This works only between open
 * devices: it would create a context on another one. */
static bool reach(struct cuda_device *d, int source, struct train_error *error)
{
	uint64_t bit = UINT64_C(1) << (source % 64);
	cudaError_t status;
	int can = 0;

	if (d->reached & bit)
		return true;
	if (!CUDA_DO(d, RUNTIME, cudaDeviceCanAccessPeer, (&can, d->ordinal, source), error))
		return false;
	status = can ? d->calls->cudaDeviceEnablePeerAccess(source, 0) : cudaSuccess;
	/* It was enabled before, or the GPU has too many peers. */
	if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers ||
	    status == cudaErrorPeerAccessUnsupported) {
		d->calls->cudaGetLastError();
		status = cudaSuccess;
	}
	d->reached |= bit;
	return cuda_done(d, CUDA_LIBRARY_RUNTIME, status, "cudaDeviceEnablePeerAccess", error);
}

bool cuda_copy(struct device *device, void *to, const struct device *other, const void *from,
	       size_t bytes, struct train_error *error)
{
	struct cuda_device *d = own(device);
	int source = ((const struct cuda_device *)other)->ordinal;

	if (source == d->ordinal)
		return transfer(device, to, from, bytes, cudaMemcpyDeviceToDevice, error);
	return bytes == 0 || (cuda_use(d, error) && reach(d, source, error) &&
			      CUDA_DO(d, RUNTIME, cudaMemcpyPeerAsync,
				      (to, d->ordinal, from, source, bytes, d->stream), error));
}

bool cuda_zero(struct device *device, void *to, size_t bytes, struct train_error *error)
{
	struct cuda_device *d = own(device);

	return bytes == 0 || (cuda_use(d, error) && CUDA_DO(d, RUNTIME, cudaMemsetAsync,
							    (to, 0, bytes, d->stream), error));
}

void *cuda_allocate_zeros(struct device *device, size_t bytes, const char *what,
			  struct train_error *error)
{
	void *memory = cuda_allocate(device, bytes, what, error);

	if (memory && !cuda_zero(device, memory, bytes, error)) {
		cuda_release(device, memory);
		return NULL;
	}
	return memory;
}

bool cuda_fetch(struct device *device, const void *from, size_t bytes, struct train_error *error)
{
	struct cuda_device *d = own(device);
	int slot = d->fetches % MAX_FETCH;
	cudaEvent_t previous = d->fetches ? d->fetched[(d->fetches - 1) % MAX_FETCH] : NULL;

	if (!cuda_use(d, error) || !follow(d, d->stream, d->computed, d->outputs, error) ||
	    !transfer_on(d, d->outputs, d->results + (size_t)slot * FETCH_BYTES, from, bytes,
			 cudaMemcpyDeviceToHost, error) ||
	    !CUDA_DO(d, RUNTIME, cudaEventRecord, (d->fetched[slot], d->outputs), error) ||
	    (previous &&
	     !CUDA_DO(d, RUNTIME, cudaStreamWaitEvent, (d->stream, previous, 0), error)))
		return false;
	d->fetches++;
	return true;
}

bool cuda_take(struct device *device, void *host, size_t bytes, struct train_error *error)
{
	struct cuda_device *d = own(device);
	int slot = d->takes % MAX_FETCH;

	if (!cuda_wait_event(d, d->fetched[slot], error))
		return false;
	memcpy(host, d->results + (size_t)slot * FETCH_BYTES, bytes);
	d->takes++;
	return true;
}

bool cuda_add(struct device *device, float *sum, const float *more, int64_t count,
	      struct train_error *error)
{
	struct cuda_device *d = own(device);
	const struct accumulate_args args = {sum, more, count};

	return cuda_use(d, error) && CUDA_KERNEL(d, accumulate, &args, error);
}

/* Called before operations run, so nothing uses the old memory. */
static bool grow(struct cuda_device *d, void **memory, size_t *has, size_t bytes, const char *what,
		 struct train_error *error)
{
	void *grown;

	if (bytes <= *has)
		return true;
	grown = cuda_allocate_zeros(&d->base, bytes, what, error);
	if (!grown || !cuda_finish(&d->base, error)) {
		cuda_release(&d->base, grown);
		return false;
	}
	cuda_release(&d->base, *memory);
	d->base.shared_bytes += bytes - *has;
	*memory = grown;
	*has = bytes;
	return true;
}

bool cuda_want_workspace(struct cuda_device *d, size_t bytes, struct train_error *error)
{
	return grow(d, &d->workspace, &d->workspace_bytes, bytes, "the workspace of libraries",
		    error);
}

bool cuda_want_scratch(struct cuda_device *d, size_t bytes, struct train_error *error)
{
	return grow(d, &d->scratch, &d->scratch_bytes, bytes, "the scratch of kernels", error);
}
