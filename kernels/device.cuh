/* SPDX-License-Identifier: MIT */
/* For .cu files: values of each type, loads of 16 bytes, and the last block. */
#ifndef KERNELS_DEVICE_CUH
#define KERNELS_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

#include "kernels/launchers.h"

/* LAUNCH_THREADS to a block, and few enough registers for `blocks` resident blocks on a
 * multiprocessor with 2048 threads. Those with 1024 or 1536 use their default. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
			       __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030)
#define RESIDENT(blocks) __launch_bounds__(LAUNCH_THREADS, blocks)
#else
#define RESIDENT(blocks) __launch_bounds__(LAUNCH_THREADS)
#endif

/* return CALL<value type, ...>(args, stream), of the type that `type` names. */
#define WITH_TYPE(type, CALL, args, stream, ...) \
	switch (type) { \
	case VALUE_FLOAT32: \
		return CALL<float, ##__VA_ARGS__>(args, stream); \
	case VALUE_BFLOAT16: \
		return CALL<__nv_bfloat16, ##__VA_ARGS__>(args, stream); \
	case VALUE_FLOAT16: \
		return CALL<__half, ##__VA_ARGS__>(args, stream); \
	case VALUE_FLOAT64: \
		break; \
	} \
	return cudaErrorInvalidValue

/* Launches a kernel; nothing without blocks. */
template <typename... ARGS>
static cudaError_t launch_kernel(void (*kernel)(ARGS...), const struct launch &l,
				 cudaStream_t stream, ARGS... args)
{
	if (!l.blocks)
		return cudaSuccess;
	kernel<<<l.blocks, l.threads, 0, stream>>>(args...);
	return cudaGetLastError();
}

static __device__ inline float to_float(float x)
{
	return x;
}

static __device__ inline float to_float(__nv_bfloat16 x)
{
	return __bfloat162float(x);
}

static __device__ inline float to_float(__half x)
{
	return __half2float(x);
}

/* Rounds to the nearest, ties to even. */
static __device__ inline void set_float(float *to, float x)
{
	*to = x;
}

static __device__ inline void set_float(__nv_bfloat16 *to, float x)
{
	*to = __float2bfloat16_rn(x);
}

static __device__ inline void set_float(__half *to, float x)
{
	*to = __float2half_rn(x);
}

/* WIDTH values that are loaded and stored at once; their address is a multiple of their bytes,
 * which a sanitizer sees where a reference is made. */
template <typename T, int WIDTH> struct alignas(WIDTH * sizeof(T)) vector {
	T values[WIDTH];
};

template <typename T, int WIDTH> static __device__ inline vector<T, WIDTH> load(const T *from)
{
	const vector<T, WIDTH> &aligned = *(const vector<T, WIDTH> *)from;
	vector<T, WIDTH> v;

	/* Copied as one word; a copy of the structure may be split. */
	if constexpr (sizeof(v) == 16) {
		uint4 bits = *(const uint4 *)&aligned;

		memcpy(&v, &bits, sizeof(v));
	} else if constexpr (sizeof(v) == 8) {
		uint2 bits = *(const uint2 *)&aligned;

		memcpy(&v, &bits, sizeof(v));
	} else {
		v = aligned;
	}
	return v;
}

template <typename T, int WIDTH>
static __device__ inline void store(T *to, const vector<T, WIDTH> &v)
{
	vector<T, WIDTH> &aligned = *(vector<T, WIDTH> *)to;

	if constexpr (sizeof(v) == 16) {
		uint4 bits;

		memcpy(&bits, &v, sizeof(v));
		*(uint4 *)&aligned = bits;
	} else if constexpr (sizeof(v) == 8) {
		uint2 bits;

		memcpy(&bits, &v, sizeof(v));
		*(uint2 *)&aligned = bits;
	} else {
		aligned = v;
	}
}

/* 16 bytes of T. */
template <typename T> static constexpr int wide = LAUNCH_VECTOR_BYTES / (int)sizeof(T);

/* relu_backward: gradients of outputs that are not above 0 become zero. */
template <typename T, int WIDTH>
static __device__ inline void zero_unpassed(vector<T, WIDTH> *gradient,
					    const vector<T, WIDTH> &output)
{
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		if (!(to_float(output.values[k]) > 0))
			set_float(&gradient->values[k], 0);
}

/*
 * Whether this block is the last of `blocks` to call this. The last one sees everything that the
 * others wrote before, and sets the ticket to zero. All threads of all blocks call it, once.
 */
static __device__ inline bool comes_last(unsigned *ticket, unsigned blocks)
{
	__shared__ bool last;

	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		last = atomicAdd(ticket, 1) == blocks - 1;
		if (last)
			*ticket = 0;
	}
	__syncthreads();
	__threadfence();
	return last;
}

/* The sum of x over all LAUNCH_THREADS threads, always in the same order; in thread 0. */
template <typename T> static __device__ inline T block_sum(T x)
{
	__shared__ T parts[LAUNCH_THREADS / 32];
	int lane = (int)threadIdx.x % 32;

	for (int n = 16; n > 0; n /= 2)
		x += __shfl_down_sync(0xffffffff, x, n);
	__syncthreads(); /* parts may still be read for an earlier sum */
	if (lane == 0)
		parts[threadIdx.x / 32] = x;
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 1; i < LAUNCH_THREADS / 32; i++)
			x += parts[i];
	return x;
}

#endif
