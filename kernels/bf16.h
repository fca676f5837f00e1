/* SPDX-License-Identifier: MIT */
/*
 * Half-width floats as bits: bf16 (8 exponent bits, 7 of fraction) and IEEE fp16 (5 and 10).
 * Rounding is to the nearest, ties to even, as the hardware and PyTorch round; values out of range
 * become infinite. Branchless, so that a loop over them is vectorised.
 */
#ifndef KERNELS_BF16_H
#define KERNELS_BF16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float bits_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Every NaN becomes 0x7fc0, as in PyTorch. */
static inline uint16_t bf16_from_float(float x)
{
	uint32_t bits = float_bits(x);
	/* Adds half of the last place, or a little less if that place is even, so that a tie stays
	 * even. */
	uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;

	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

static inline float bf16_to_float(uint16_t half)
{
	return bits_float((uint32_t)half << 16);
}

/* Every NaN becomes 0x7e00 with its sign, as in PyTorch. */
static inline uint16_t fp16_from_float(float x)
{
	uint32_t bits = float_bits(x), sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
	/* The exponent's bias goes from 127 to 15; a carry out of the fraction raises it. */
	uint32_t normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
	/* Below 2^-14: the last place of 0.5f is the least fp16, so this sum rounds there. */
	uint32_t tiny = float_bits(bits_float(size) + 0.5f) - float_bits(0.5f);
	uint32_t half = size < (113u << 23) ? tiny : normal;

	half = size >= 0x477ff000 ? 0x7c00 : half; /* 65520, halfway to the number after the last */
	half = size > 0x7f800000 ? 0x7e00 : half;
	return (uint16_t)(sign | half);
}

static inline float fp16_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = half & 0x7fff;
	float tiny = (float)(int32_t)size * 0x1p-24f; /* a normal float, though a subnormal fp16 */
	uint32_t normal = (size << 13) + (112u << 23);
	uint32_t bits = size < 0x400 ? float_bits(tiny) : normal;

	return bits_float(sign | (size >= 0x7c00 ? 0x7f800000 | size << 13 : bits));
}

#endif
