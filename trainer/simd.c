/* SPDX-License-Identifier: MIT */
#include "simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static enum simd_isa of_processor(void)
{
#ifdef SIMD_X86
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return __builtin_cpu_supports("avx512bf16") ? SIMD_BF16 : SIMD_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return SIMD_AVX2;
#endif
	return SIMD_GENERIC; /* the plain function has it already */
}

/* SIMD_BF16 where the variable is not set. */
static enum simd_isa allowed(void)
{
	const char *text = getenv(SIMD_VARIABLE), *word = SIMD_WORDS;
	size_t length = text ? strlen(text) : 0;

	for (int isa = SIMD_GENERIC; isa < SIMD_BF16; isa++) {
		size_t of_this = strcspn(word, "|");

		if (length == of_this && strncmp(word, text, length) == 0)
			return (enum simd_isa)isa;
		word += of_this + 1;
	}
	return SIMD_BF16;
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
