/* SPDX-License-Identifier: MIT */
/* Products of small matrices by tensor cores. */
#ifndef KERNELS_MMA_CUH
#define KERNELS_MMA_CUH

#include "kernels/device.cuh"

template <typename T> static constexpr bool is_bfloat16 = false;
template <> constexpr bool is_bfloat16<__nv_bfloat16> = true;

/*
 * sums = a * b + add, of 16 x 16, 16 x 8 and 16 x 8 values; a and b are of type T, two to a word,
 * the first in the lower half. The lanes of a warp compute it together. Of lane 4 * g + t
 *   word i of a has the row g + 8 * (i % 2) and the columns 2 * t + 8 * (i / 2) and one more,
 *   word i of b has the rows 2 * t + 8 * i and one more, and the column g,
 *   number i of add and sums has the row g + 8 * (i / 2) and the column 2 * t + i % 2
 * (PTX ISA, mma.m16n8k16 for .f16 and .bf16). Only GPUs from 8.0 on have it, see has_mma().
 * emulated.h has its own.
 */
#ifndef EMULATED_H
template <typename T>
static __device__ inline void multiply(float (&sums)[4], const uint32_t (&a)[4],
				       const uint32_t (&b)[2], const float (&add)[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
	__trap();
#else
#define MULTIPLY(type) \
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 " \
		     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" \
		     : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]) \
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), \
		       "f"(add[0]), "f"(add[1]), "f"(add[2]), "f"(add[3]))
	if constexpr (is_bfloat16<T>)
		MULTIPLY("bf16");
	else
		MULTIPLY("f16");
#undef MULTIPLY
#endif
}
#endif

/* The greater; NaN if one of them is NaN. The processor has it in one instruction since 8.0. */
static __device__ inline float max_or_nan(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	float max;

	asm("max.NaN.f32 %0, %1, %2;" : "=f"(max) : "f"(a), "f"(b));
	return max;
#else
	return b > a || b != b ? b : a;
#endif
}

/* Whether the code of the kernel for the current device was compiled for GPUs that can multiply().
 */
template <typename... Args> static inline bool has_mma(void (*kernel)(Args...))
{
	struct cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes, (const void *)kernel) == cudaSuccess &&
	       attributes.ptxVersion >= 80;
}

#endif
