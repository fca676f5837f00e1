/* SPDX-License-Identifier: MIT */
/*
 * Loops for several processors in one build: the body is inlined into a plain function, into one
 * for AVX2 with FMA and, where that is faster, into one for AVX-512; simd_loops() chooses. All give
 * the same bits, since fmaf() rounds once everywhere; without the instruction it is only slow.
 */
#ifndef TRAIN_SIMD_H
#define TRAIN_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#define SIMD_X86
#endif

#define SIMD_BODY static inline __attribute__((always_inline))

#ifdef SIMD_X86
#define SIMD_FMA __attribute__((target("avx2,fma")))
#define SIMD_512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))
#define SIMD_BF16_TARGET \
	__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#else
#define SIMD_FMA
#define SIMD_512
#endif

/* With AVX-512, oneDNN's Winograd convolution in float32 replaces the trainer's own; with bfloat16
 * the trainer has one of that type. With AMX operations in bfloat16 are oneDNN's. */
enum simd_isa { SIMD_GENERIC, SIMD_AVX2, SIMD_AVX512, SIMD_BF16, SIMD_AMX };

/* The user's limit, one of these words in the order above, for tests and to find faults. */
#define SIMD_VARIABLE "GPUMAP_MAX_CPU_ISA"
#define SIMD_WORDS "generic|avx2|avx512|avx512_bf16|amx"

/* The best instructions that the processor has and the variable allows. Whether the system allows
 * AMX, only oneDNN knows. An unknown word does not limit them; settings_read() rejects it. The
 * first call reads the environment. */
enum simd_isa simd_isa(void);

/* Which of the functions of a loop to call: for plain instructions, AVX2, and AVX-512. */
static inline enum simd_isa simd_loops(void)
{
	enum simd_isa isa = simd_isa();

	return isa < SIMD_AVX512 ? isa : SIMD_AVX512;
}

/* Work of cpu_team_run() by BODY: NAME[simd_loops()]. */
#define SIMD_EACH(NAME, BODY) \
	static void NAME##_plain(void *argument, int64_t first, int64_t last) \
	{ \
		BODY(argument, first, last); \
	} \
	SIMD_FMA static void NAME##_fma(void *argument, int64_t first, int64_t last) \
	{ \
		BODY(argument, first, last); \
	} \
	SIMD_512 static void NAME##_512(void *argument, int64_t first, int64_t last) \
	{ \
		BODY(argument, first, last); \
	} \
	static void (*const NAME[])(void *, int64_t, int64_t) = {NAME##_plain, NAME##_fma, \
								 NAME##_512};

/* Two functions of one body, NAME_plain and NAME_fma, for simd_has_fma() to choose from. */
#define SIMD_BOTH(TYPE, NAME, PARAMETERS, ...) \
	static TYPE NAME##_plain PARAMETERS{ \
		__VA_ARGS__} SIMD_FMA static TYPE NAME##_fma PARAMETERS \
	{ \
		__VA_ARGS__ \
	}

static inline bool simd_has_fma(void)
{
	return simd_isa() >= SIMD_AVX2;
}

#endif
