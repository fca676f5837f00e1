/* SPDX-License-Identifier: MIT */
/*
 * Random numbers: PyTorch's CPU generator, bit for bit, for weights and orders. Augmentation takes
 * numbers by counter (kernels/philox.h).
 */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum { RANDOM_WORDS = 624 };

/*
 * torch.Generator() of the CPU: MT19937 (Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS
 * 8(1), 1998), in ATen/core/MT19937RNGEngine.h. A copy continues independently.
 */
struct random_generator {
	uint32_t state[RANDOM_WORDS];
	int next; /* the word of state that comes next; RANDOM_WORDS: all are used */
};

/* manual_seed(seed): its low 32 bits count; a negative one is its two's complement. */
void random_seed(struct random_generator *generator, uint64_t seed);

/* The next 32 bits: what PyTorch calls random(). */
uint32_t random_u32(struct random_generator *generator);

/* The next 64 bits: random64(), whose first output is the high half. */
uint64_t random_u64(struct random_generator *generator);

/*
 * tensor.uniform_(from, to) of n float32 on the CPU: one random() each, of which the low 24
 * bits are x = bits / 2^24 in [0, 1) (ATen/core/DistributionsHelper.h, TransformationHelper.h).
 * x * (to - from) + from is rounded once, as where PyTorch's CPU has AVX2 or AVX-512.
 */
void random_uniform(struct random_generator *generator, float *out, int64_t n, float from,
		    float to);

/* The same generator after n uniform numbers. */
void random_skip(struct random_generator *generator, int64_t n);

/*
 * tensor.normal_(0, std) of n >= 16 float32 on the CPU (normal_fill in ATen/native/cpu/
 * DistributionTemplates.h): n uniform numbers, and the Box-Muller transform of each 16 of them, the
 * first 8 with the last 8. If n is no multiple of 16, the last 16 are drawn and transformed again.
 * The bits are those of PyTorch with ATEN_CPU_CAPABILITY=default. With AVX2 or AVX-512 PyTorch
 * approximates logarithm, sine and cosine, and each value differs by up to 3e-6 std.
 */
void random_normal(struct random_generator *generator, float *out, int64_t n, float std);

/*
 * torch.randperm(n) on the CPU (ATen/native/TensorFactories.cpp): out[0..n-1] is a permutation
 * of 0..n-1: for i = 0..n-2 swap out[i] with out[i + random() % (n - i)]. With n above 2 * 10^8,
 * whose images need more than 600 GB, PyTorch draws 64 bits since January 2025.
 */
void random_permutation(struct random_generator *generator, int64_t *out, int64_t n);

#endif
