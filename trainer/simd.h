/* SPDX-License-Identifier: MIT */
/*
 * Loops for the machine they run on, without flags for one machine: a body that is inlined into a
 * plain function and into one for AVX2 with FMA, and simd_has_fma() to choose. Both give the
 * same bits, since fmaf() rounds once everywhere; without the instruction it is only slow.
 */
#ifndef TRAIN_SIMD_H
#define TRAIN_SIMD_H

#include <stdbool.h>

/* Tests of the plain functions say SIMD_PLAIN. */
#if defined(__x86_64__) && !defined(SIMD_PLAIN)
#define SIMD_X86
#endif

#define SIMD_BODY static inline __attribute__((always_inline))

#ifdef SIMD_X86
#define SIMD_FMA __attribute__((target("avx2,fma")))
#else
#define SIMD_FMA
#endif

static inline bool simd_has_fma(void)
{
#ifdef SIMD_X86
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false; /* the plain function has all there is */
#endif
}

#endif
