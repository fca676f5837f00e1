/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by counter: they do not depend on earlier draws, so that augmentation is the same
 * on every device.
 */
#ifndef KERNELS_PHILOX_H
#define KERNELS_PHILOX_H

#include <stdint.h>

/* For functions of the CPU and of GPUs. */
#ifdef __CUDACC__
#define HOST_DEVICE static inline __host__ __device__
#else
#define HOST_DEVICE static inline
#endif

/*
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3",
 * SC'11): 128 random bits as a function of counter and key.
 */
HOST_DEVICE void random_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < 10; round++) {
		uint64_t p = 0xd2511f53ull * a, q = 0xcd9e8d57ull * c;

		a = (uint32_t)(q >> 32) ^ b ^ k0;
		b = (uint32_t)q;
		c = (uint32_t)(p >> 32) ^ d ^ k1;
		d = (uint32_t)p;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	out[0] = a;
	out[1] = b;
	out[2] = c;
	out[3] = d;
}

/* What the numbers are for: with one seed each purpose has numbers of its own. */
enum random_purpose { RANDOM_AUGMENT, RANDOM_LABEL, RANDOM_PATTERN, RANDOM_NOISE };

/* The numbers depend only on these fields. */
struct random_key {
	uint64_t seed;
	enum random_purpose purpose;
	uint32_t epoch;
	int64_t sample;
};

/* The draw-th 128 bits of a key; draw < 2^24. Key: seed; counter: purpose and draw, epoch, sample.
 */
HOST_DEVICE void random_keyed(uint32_t out[4], const struct random_key *key, uint32_t draw)
{
	uint64_t sample = (uint64_t)key->sample;
	const uint32_t counter[4] = {(uint32_t)key->purpose << 24 | draw, key->epoch,
				     (uint32_t)sample, (uint32_t)(sample >> 32)};
	const uint32_t seed[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};

	random_philox(out, counter, seed);
}

/* Maps 32 random bits to 0..n-1: floor(bits * n / 2^32). No number is favoured by more than n /
 * 2^32. */
HOST_DEVICE uint32_t random_below(uint32_t bits, uint32_t n)
{
	return (uint32_t)((uint64_t)bits * n >> 32);
}

#endif
