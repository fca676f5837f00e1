/* SPDX-License-Identifier: MIT */
#include "kernels/philox.h"

void random_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
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

void random_keyed(uint32_t out[4], const struct random_key *key, uint32_t draw)
{
	uint64_t sample = (uint64_t)key->sample;
	const uint32_t counter[4] = {(uint32_t)key->purpose << 24 | draw, key->epoch,
				     (uint32_t)sample, (uint32_t)(sample >> 32)};
	const uint32_t seed[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};

	random_philox(out, counter, seed);
}
