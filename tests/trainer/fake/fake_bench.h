/* SPDX-License-Identifier: MIT */
/* A pretended machine with two devices and what tests of its runtime use. */
#ifndef TEST_FAKE_BENCH_H
#define TEST_FAKE_BENCH_H

#include "fake_test.h"

/* Device memory, two streams of device 0, one of device 1, an event, and numbers on the host. */
struct bench {
	cudaStream_t a, b, other;
	cudaEvent_t event;
	float *x, *y, *far, *pinned;
	float host[16];
};

enum { BYTES = 64, COUNT = 16 };

static struct bench bench;

static inline void bench_open(bool late)
{
	machine_open(2, late);
	bench = (struct bench){.a = NULL};
	bench.other = stream_new(1);
	bench.far = device_new(BYTES);
	bench.a = stream_new(0);
	bench.b = stream_new(0);
	bench.x = device_new(BYTES);
	bench.y = device_new(BYTES);
	OK(cu.cudaMallocHost((void **)&bench.pinned, BYTES));
	OK(cu.cudaEventCreateWithFlags(&bench.event, cudaEventDisableTiming));
	for (int i = 0; i < COUNT; i++)
		bench.host[i] = bench.pinned[i] = (float)i;
}

static inline void bench_free(void)
{
	OK(cu.cudaEventDestroy(bench.event));
	OK(cu.cudaFreeHost(bench.pinned));
	OK(cu.cudaFree(bench.x));
	OK(cu.cudaFree(bench.y));
	OK(cu.cudaFree(bench.far));
	OK(cu.cudaStreamDestroy(bench.a));
	OK(cu.cudaStreamDestroy(bench.b));
	OK(cu.cudaStreamDestroy(bench.other));
}

static inline cudaError_t to_device(float *to, const float *from, cudaStream_t stream)
{
	return cu.cudaMemcpyAsync(to, from, BYTES, cudaMemcpyHostToDevice, stream);
}

static inline cudaError_t add(float *sum, const float *more, cudaStream_t stream)
{
	struct accumulate_args args = {sum, more, COUNT};

	return cu.kernel_accumulate(&args, stream);
}

#endif
