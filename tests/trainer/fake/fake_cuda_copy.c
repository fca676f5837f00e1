/* SPDX-License-Identifier: MIT */
/* Copies and memsets. Bytes of pageable memory are taken at once; a copy to it waits until it is
 * done. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fake_cuda_private.h"

struct copy {
	void *to;
	const void *from;
	size_t bytes;
	int to_device, from_device; /* or FAKE_HOST */
	bool to_pageable, from_pageable;
	unsigned char taken[]; /* the bytes, if from pageable memory */
};

static void copy_list(const struct work *work, struct touches *touches)
{
	const struct copy *copy = (const void *)work->data;

	if (!copy->from_pageable)
		touch(touches, &(struct touch){.memory = copy->from,
					       .bytes = copy->bytes,
					       .device = copy->from_device});
	if (!copy->to_pageable)
		touch(touches, &(struct touch){.memory = copy->to,
					       .bytes = copy->bytes,
					       .device = copy->to_device,
					       .write = true});
}

static void copy_run(struct work *work)
{
	const struct copy *copy = (const void *)work->data;

	memmove(copy->to, copy->from_pageable ? copy->taken : copy->from, copy->bytes);
}

static const struct work_kind copy_kind = {.name = "copy", .list = copy_list, .run = copy_run};

/* Puts a copy whose ends are known. */
static cudaError_t put_copy(const struct copy *copy, cudaStream_t stream, const char *call)
{
	size_t bytes = sizeof(*copy) + (copy->from_pageable ? copy->bytes : 0);
	struct copy *whole;
	cudaError_t status;

	if (copy->bytes == 0)
		return cudaSuccess;
	if (stream->graph && (copy->from_pageable || copy->to_pageable)) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	whole = malloc(bytes);
	if (!whole)
		abort();
	*whole = *copy;
	if (copy->from_pageable)
		memcpy(whole->taken, copy->from, copy->bytes);
	status = stream_put(stream, work_new(&copy_kind, call, whole, bytes), false);
	free(whole);
	if (status == cudaSuccess && copy->to_pageable)
		status = stream_wait(stream);
	return status;
}

/* Which memory an end is of: FAKE_HOST and whether it is pageable, or a device. */
static int end_of(const void *memory, bool *pageable)
{
	int device;

	*pageable = false;
	if (memory_is_device(memory, &device))
		return device;
	*pageable = !memory_is_pinned(memory);
	return FAKE_HOST;
}

cudaError_t fake_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	struct copy copy = {.to = to, .from = from, .bytes = bytes};
	enum cudaMemcpyKind is;

	stream = stream_get(stream, "cudaMemcpyAsync");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (bytes > 0 && (!to || !from))
		return cudaErrorInvalidValue;
	copy.to_device = end_of(to, &copy.to_pageable);
	copy.from_device = end_of(from, &copy.from_pageable);
	if (copy.to_device == FAKE_HOST)
		is = copy.from_device == FAKE_HOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
	else
		is = copy.from_device == FAKE_HOST ? cudaMemcpyHostToDevice
						   : cudaMemcpyDeviceToDevice;
	if (bytes > 0 && kind != is && kind != cudaMemcpyDefault)
		return (cudaError_t)fault(cudaErrorInvalidValue,
					  "cudaMemcpyAsync: its kind is %d, and its memory is of "
					  "kind %d",
					  (int)kind, (int)is);
	if ((copy.to_device != FAKE_HOST && copy.to_device != stream->object.device) ||
	    (copy.from_device != FAKE_HOST && copy.from_device != stream->object.device))
		return (cudaError_t)fault(
			cudaErrorInvalidValue,
			"cudaMemcpyAsync: memory of device %d to memory of device %d on a stream "
			"of device %d",
			copy.from_device, copy.to_device, stream->object.device);
	return put_copy(&copy, stream, "cudaMemcpyAsync");
}

cudaError_t fake_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
				     size_t bytes, cudaStream_t stream)
{
	struct copy copy = {.to = to,
			    .from = from,
			    .bytes = bytes,
			    .to_device = to_device,
			    .from_device = from_device};

	stream = stream_get(stream, "cudaMemcpyPeerAsync");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (to_device < 0 || to_device >= fake.options.devices || from_device < 0 ||
	    from_device >= fake.options.devices)
		return cudaErrorInvalidDevice;
	if (stream->object.device != to_device && stream->object.device != from_device)
		return (cudaError_t)fault(cudaErrorInvalidValue,
					  "cudaMemcpyPeerAsync: from device %d to %d on a stream "
					  "of device %d",
					  from_device, to_device, stream->object.device);
	return put_copy(&copy, stream, "cudaMemcpyPeerAsync");
}

struct set {
	void *to;
	int value;
	size_t bytes;
};

static void set_list(const struct work *work, struct touches *touches)
{
	const struct set *set = (const void *)work->data;

	touch(touches, &(struct touch){.memory = set->to,
				       .bytes = set->bytes,
				       .device = work->device,
				       .write = true});
}

static void set_run(struct work *work)
{
	const struct set *set = (const void *)work->data;

	memset(set->to, set->value, set->bytes);
}

static const struct work_kind set_kind = {.name = "memset", .list = set_list, .run = set_run};

cudaError_t fake_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	struct set set = {to, value, bytes};

	stream = stream_get(stream, "cudaMemsetAsync");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (bytes == 0)
		return cudaSuccess;
	return stream_put(stream, work_new(&set_kind, "cudaMemsetAsync", &set, sizeof(set)), true);
}
