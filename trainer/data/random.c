/* SPDX-License-Identifier: MIT */
/* See random.h. */
#include "random.h"

#include <math.h>
#include <stdbool.h>

#include "base/simd.h"

enum { MIDDLE = 397 };

void random_seed(struct random_generator *generator, uint64_t seed)
{
	uint32_t *s = generator->state;

	s[0] = (uint32_t)seed;
	for (uint32_t i = 1; i < RANDOM_WORDS; i++)
		s[i] = 1812433253u * (s[i - 1] ^ s[i - 1] >> 30) + i;
	generator->next = RANDOM_WORDS;
}

static inline uint32_t twist(uint32_t high, uint32_t low, uint32_t middle)
{
	uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

	return middle ^ y >> 1 ^ (-(y & 1) & 0x9908b0dfu);
}

/* Words that are written are read no sooner than 227 words later. */
SIMD_BODY void twist_all(uint32_t *s)
{
	const int late = RANDOM_WORDS - MIDDLE;

#pragma omp simd
	for (int i = 0; i < late; i++)
		s[i] = twist(s[i], s[i + 1], s[i + MIDDLE]);
#pragma omp simd safelen(227)
	for (int i = late; i < RANDOM_WORDS - 1; i++)
		s[i] = twist(s[i], s[i + 1], s[i - late]);
	s[RANDOM_WORDS - 1] = twist(s[RANDOM_WORDS - 1], s[0], s[MIDDLE - 1]);
}

static inline uint32_t tempered(uint32_t y)
{
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680u;
	y ^= y << 15 & 0xefc60000u;
	return y ^ y >> 18;
}

SIMD_BOTH(void, twist, (uint32_t * s), twist_all(s);)

static void refill(struct random_generator *generator)
{
	(simd_has_fma() ? twist_fma : twist_plain)(generator->state);
	generator->next = 0;
}

uint32_t random_u32(struct random_generator *generator)
{
	if (generator->next == RANDOM_WORDS)
		refill(generator);
	return tempered(generator->state[generator->next++]);
}

uint64_t random_u64(struct random_generator *generator)
{
	uint64_t high = random_u32(generator);

	return high << 32 | random_u32(generator);
}

/*
 * x * range + from, rounded once. From 0, or about 0, the sum is a multiple of 2^-24 of `to`, so
 * that a double holds it whole, and to round it is enough: without the instruction that takes half
 * the time of a call of fmaf.
 */
static inline float fused(float x, float range, float from)
{
	return from == 0 || from == range / -2 ? (float)((double)x * range + from)
					       : fmaf(x, range, from);
}

static inline float fraction(uint32_t word)
{
	return (float)(int32_t)(tempered(word) & 0xffffff) * 0x1p-24f;
}

static void uniform_plain(float *out, const uint32_t *words, int n, float range, float from)
{
	for (int i = 0; i < n; i++)
		out[i] = fused(fraction(words[i]), range, from);
}

SIMD_FMA static void uniform_fma(float *out, const uint32_t *words, int n, float range, float from)
{
#pragma omp simd
	for (int i = 0; i < n; i++)
		out[i] = fmaf(fraction(words[i]), range, from);
}

void random_uniform(struct random_generator *generator, float *out, int64_t n, float from, float to)
{
	bool fma = simd_has_fma();

	while (n > 0) {
		int left = RANDOM_WORDS - generator->next;
		int now = n < left ? (int)n : left;
		const uint32_t *words = generator->state + generator->next;

		if (now == 0) {
			refill(generator);
			continue;
		}
		(fma ? uniform_fma : uniform_plain)(out, words, now, to - from, from);
		generator->next += now;
		out += now;
		n -= now;
	}
}

void random_skip(struct random_generator *generator, int64_t n)
{
	for (; n > 0; n--)
		random_u32(generator);
}

enum { NORMALS = 16 };

static void box_muller(float *values, float std)
{
	for (int i = 0; i < NORMALS / 2; i++) {
		float *x = &values[i], *y = &values[i + NORMALS / 2];
		float radius = sqrtf(-2 * logf(1 - *x));
		float angle = (float)(2 * 3.14159265358979323846 * (double)*y);

		*x = radius * cosf(angle) * std;
		*y = radius * sinf(angle) * std;
	}
}

void random_normal(struct random_generator *generator, float *out, int64_t n, float std)
{
	random_uniform(generator, out, n, 0, 1);
	for (int64_t i = 0; i + NORMALS <= n; i += NORMALS)
		box_muller(out + i, std);
	if (n % NORMALS == 0)
		return;
	random_uniform(generator, out + n - NORMALS, NORMALS, 0, 1);
	box_muller(out + n - NORMALS, std);
}

void random_permutation(struct random_generator *generator, int64_t *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = i;
	for (int64_t i = 0; i < n - 1; i++) {
		int64_t z = i + random_u32(generator) % (n - i);
		int64_t swapped = out[i];

		out[i] = out[z];
		out[z] = swapped;
	}
}
