/* SPDX-License-Identifier: MIT */
/* See simd.h. */
#include "base/simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#ifdef SIMD_X86
/* AMX_TILE and AMX_BF16 (Intel, "Architecture Instruction Set Extensions", CPUID 7). Compilers of
 * today do not all know their names. */
static bool has_amx(void)
{
	const unsigned wanted = 1u << 24 | 1u << 22;
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & wanted) == wanted;
}
#endif

static enum simd_isa of_processor(void)
{
#ifdef SIMD_X86
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl")) {
		if (!__builtin_cpu_supports("avx512bf16"))
			return SIMD_AVX512;
		return has_amx() ? SIMD_AMX : SIMD_BF16;
	}
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return SIMD_AVX2;
#endif
	return SIMD_GENERIC; /* the plain function has it already */
}

/* SIMD_AMX where the variable is not set. */
static enum simd_isa allowed(void)
{
	const char *text = getenv(SIMD_VARIABLE), *word = SIMD_WORDS;
	size_t length = text ? strlen(text) : 0;

	for (int isa = SIMD_GENERIC; isa < SIMD_AMX; isa++) {
		size_t of_this = strcspn(word, "|");

		if (length == of_this && strncmp(word, text, length) == 0)
			return (enum simd_isa)isa;
		word += of_this + 1;
	}
	return SIMD_AMX;
}

enum simd_isa simd_isa(void)
{
	static atomic_int known; /* and 1, so that 0 is not known yet */
	int isa = atomic_load_explicit(&known, memory_order_relaxed);

	if (isa == 0) {
		enum simd_isa has = of_processor(), may = allowed();

		isa = (int)(has < may ? has : may) + 1;
		atomic_store_explicit(&known, isa, memory_order_relaxed);
	}
	return (enum simd_isa)(isa - 1);
}
