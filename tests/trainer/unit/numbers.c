/* SPDX-License-Identifier: MIT */
#include "stage.h"

static uint32_t bits(int64_t index, uint32_t seed)
{
	uint32_t x = ((uint32_t)index + seed * 0x9e3779b9u) * 2654435761u;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	x ^= x >> 12;
	return x >> 8;
}

double stage_number(int64_t index, uint32_t seed)
{
	return (double)bits(index, seed) / 16777216.0 - 0.5;
}

double stage_half(int64_t index, uint32_t seed)
{
	return (double)(int)(bits(index, seed) % 5) / 2.0 - 1.0;
}
