/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by counter: they depend on no other that were drawn, so that what is done to a
 * sample is the same on every device.
 */
#ifndef KERNELS_PHILOX_H
#define KERNELS_PHILOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3",
 * SC'11): 128 random bits as a function of counter and key.
 */
void random_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* What numbers are for: one seed gives each purpose numbers of its own. */
enum random_purpose { RANDOM_AUGMENT, RANDOM_LABEL, RANDOM_PATTERN, RANDOM_NOISE };

/* Which numbers: these fields and nothing else decide them. */
struct random_key {
	uint64_t seed;
	enum random_purpose purpose;
	uint32_t epoch;
	int64_t sample;
};

/* The draw-th 128 bits of a key; draw < 2^24. Key: seed; counter: purpose and draw, epoch, sample.
 */
void random_keyed(uint32_t out[4], const struct random_key *key, uint32_t draw);

#ifdef __cplusplus
}
#endif

/* 32 random bits to 0..n-1: floor(bits * n / 2^32). No number is favoured by more than n / 2^32. */
static inline uint32_t random_below(uint32_t bits, uint32_t n)
{
	return (uint32_t)((uint64_t)bits * n >> 32);
}

#endif
