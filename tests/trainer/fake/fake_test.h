/* SPDX-License-Identifier: MIT */
/* What tests of the pretended CUDA share: a table of all libraries, and a machine per test. */
#ifndef TEST_FAKE_TEST_H
#define TEST_FAKE_TEST_H

#include <string.h>

#include "fake_cuda.h"
#include "unit.h"

#define OK(call) \
	do { \
		int returned_ = (int)(call); \
		ck_assert_msg(returned_ == 0, "%s: %d (%s)", #call, returned_, fake_cuda_fault()); \
	} while (0)

static struct cuda_calls cu;

static inline void machine_open(int devices, bool late)
{
	fake_cuda_open(&(struct fake_cuda_options){.devices = devices, .late = late});
	for (int library = 0; library < CUDA_LIBRARIES; library++)
		fake_cuda_fill(&cu, library);
	cu.cudaGetLastError(); /* of a test before */
}

static inline void machine_close(void)
{
	char text[FAKE_CUDA_TEXT];

	ck_assert_msg(fake_cuda_close(text), "%s", text);
}

static inline cudaStream_t stream_new(int device)
{
	cudaStream_t stream = NULL;

	OK(cu.cudaSetDevice(device));
	OK(cu.cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
	return stream;
}

static inline void *device_new(size_t bytes)
{
	void *memory = NULL;

	OK(cu.cudaMalloc(&memory, bytes));
	return memory;
}

/* Memory of the current device, with these bytes. */
static inline void *device_copy(const void *bytes, size_t count, cudaStream_t stream)
{
	void *memory = device_new(count);

	OK(cu.cudaMemcpyAsync(memory, bytes, count, cudaMemcpyHostToDevice, stream));
	return memory;
}

#endif
