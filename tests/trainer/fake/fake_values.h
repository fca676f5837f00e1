/* SPDX-License-Identifier: MIT */
/* Values as libraries store them, to and from floats. */
#ifndef TEST_FAKE_VALUES_H
#define TEST_FAKE_VALUES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "kernels/bf16.h"

enum stored { STORED_FLOAT, STORED_BF16, STORED_FP16 };

static inline float stored_get(enum stored type, const void *values, size_t i)
{
	if (type == STORED_BF16)
		return bf16_to_float(((const uint16_t *)values)[i]);
	if (type == STORED_FP16)
		return fp16_to_float(((const uint16_t *)values)[i]);
	return ((const float *)values)[i];
}

static inline void stored_set(enum stored type, void *values, size_t i, float x)
{
	if (type == STORED_BF16)
		((uint16_t *)values)[i] = bf16_from_float(x);
	else if (type == STORED_FP16)
		((uint16_t *)values)[i] = fp16_from_float(x);
	else
		((float *)values)[i] = x;
}

/* Zeros; never NULL. */
static inline float *stored_floats(size_t count)
{
	float *floats = calloc(count + 1, sizeof(*floats));

	if (!floats)
		abort();
	return floats;
}

static inline size_t stored_bytes(enum stored type)
{
	return type == STORED_FLOAT ? 4 : 2;
}

#endif
