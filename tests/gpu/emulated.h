/* SPDX-License-Identifier: MIT */
/*
 * Gives a C++ compiler what nvcc has built in. The kernels' sources run on the host's processor,
 * each thread of a block on a stack of its own, so that sanitizers watch them. Blocks of a launch
 * are dealt to a few threads of the host; within a block threads go on in a random order from one
 * barrier to the next. Included before each .cu, whose launches emulated.sed has rewritten.
 */
#ifndef EMULATED_H
#define EMULATED_H

#include <climits>
#include <cmath>
#include <cstring>
#include <cuda_runtime_api.h>
#include <functional>
#ifdef WATCH_VALUES
#include <sanitizer/msan_interface.h>
#endif

#undef __device__
#undef __global__
#undef __launch_bounds__
#undef __shared__
#define __device__
#define __global__
#define __launch_bounds__(...)

extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

/* A missing or unequal partner of a barrier ends the program. */
void __syncthreads(void);
void __syncwarp(void);
void __threadfence(void);
unsigned atomicAdd(unsigned *to, unsigned more);

/* Returns the memory, which loses its values from block to block. */
void *emulated_shared(void *memory, size_t bytes);

template <typename T> static inline T *emulated_share(T *memory)
{
	return (T *)emulated_shared(memory, sizeof(*memory));
}

/* The bits of the warp's lane `from`, or the caller's own if there is no such lane. As on a GPU, it
 * orders nothing else. */
unsigned long long emulated_shuffle(unsigned mask, unsigned long long bits, int from);

template <typename T> static inline T emulated_shuffle_of(unsigned mask, T x, int from)
{
	unsigned long long bits = 0;

	static_assert(sizeof(x) <= sizeof(bits), "no kernel here shuffles more");
#ifdef WATCH_VALUES
	__msan_check_mem_is_initialized(&x, sizeof(x));
#endif
	memcpy(&bits, &x, sizeof(x));
	bits = emulated_shuffle(mask, bits, from);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

template <typename T> static inline T __shfl_down_sync(unsigned mask, T x, int down)
{
	return emulated_shuffle_of(mask, x, (int)threadIdx.x % 32 + down);
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T x, int bits)
{
	return emulated_shuffle_of(mask, x, (int)threadIdx.x % 32 ^ bits);
}

/* `count` words of each lane of the warp, at most EMULATED_WORDS, in the order of the lanes. As a
 * shuffle it orders nothing else. */
enum { EMULATED_WARP = 32, EMULATED_WORDS = 6 };
void emulated_gather(const unsigned *own, int count, unsigned *all);

/* Value n of those that lie in pairs in words, the first in the lower half. */
template <typename T> static inline float emulated_half(const unsigned *words, int n)
{
	unsigned short bits = (unsigned short)(words[n / 2] >> 16 * (n % 2));
	T value;

	memcpy((void *)&value, &bits, sizeof(value));
	return (float)value;
}

/* mma.cuh, which has the places of rows and columns. */
template <typename T>
static inline void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2],
			    const float (&add)[4])
{
	const unsigned own[EMULATED_WORDS] = {a[0], a[1], a[2], a[3], b[0], b[1]};
	unsigned all[EMULATED_WARP][EMULATED_WORDS];
	int lane = (int)threadIdx.x % EMULATED_WARP;

#ifdef WATCH_VALUES
	__msan_check_mem_is_initialized(own, sizeof(own));
#endif
	emulated_gather(own, EMULATED_WORDS, all[0]);
	for (int i = 0; i < 4; i++) {
		int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
		double sum = (double)add[i];

		for (int k = 0; k < 16; k++) {
			int has = k % 8 / 2; /* which of the four lanes of a row or a column */
			float x = emulated_half<T>(&all[row % 8 * 4 + has][row / 8 + k / 8 * 2],
						   k % 2);
			float y = emulated_half<T>(&all[column * 4 + has][4 + k / 8], k % 2);

			sum += (double)x * (double)y;
		}
		sums[i] = (float)sum;
	}
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((unsigned long long)a * b >> 32);
}

/* Built with -ffp-contract=off, so each rounds once. */
static inline float __fadd_rn(float a, float b)
{
	return a + b;
}

static inline float __fsub_rn(float a, float b)
{
	return a - b;
}

static inline float __fmul_rn(float a, float b)
{
	return a * b;
}

static inline float __fdiv_rn(float a, float b)
{
	return a / b;
}

static inline float __fmaf_rn(float a, float b, float c)
{
	return fmaf(a, b, c);
}

static inline float __fsqrt_rn(float x)
{
	return sqrtf(x);
}

static inline double __dadd_rn(double a, double b)
{
	return a + b;
}

static inline double __dmul_rn(double a, double b)
{
	return a * b;
}

template <typename T> static inline T min(T a, T b)
{
	return b < a ? b : a;
}

using std::isfinite;
using std::isnan;

long long emulated_nanoseconds(void);

/* Runs every thread of every block; ends when all have ended. */
void emulated_run(dim3 grid, unsigned threads, const std::function<void()> &body);

struct emulated_grid {
	dim3 grid;
	unsigned threads;

	emulated_grid(dim3 blocks, unsigned threads_of_each, size_t shared, cudaStream_t)
	    : grid(blocks), threads(threads_of_each)
	{
		if (shared != 0)
			__builtin_trap(); /* no kernel here asks for it */
	}

	/* Arguments are copied, as a launch copies them. */
	template <typename... Args> auto operator()(const Args &...args) const
	{
		const struct emulated_grid here = *this;

		return [=](auto *kernel) {
			emulated_run(here.grid, here.threads, [&] { kernel(args...); });
		};
	}
};

/* kernel<<<grid>>>(args) becomes kernel % emulated_grid(grid)(args). */
template <typename... Args, typename Launch>
static inline void operator%(void (*kernel)(Args...), const Launch &launch)
{
	launch(kernel);
}

#endif
