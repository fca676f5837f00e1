/* SPDX-License-Identifier: MIT */
/* For tests of kernels/: arrays of any type, with guards behind them. */
#ifndef TRAIN_TESTS_KERNELS_H
#define TRAIN_TESTS_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "data/random.h"
#include "tests/trainer/kernels/references.h"
#include "unit.h"

static const enum value_type value_types[] = {VALUE_FLOAT32, VALUE_BFLOAT16, VALUE_FLOAT16};
enum { TYPES = sizeof(value_types) / sizeof(*value_types), POISON = 0xa5, GUARD = 64 };

/* Poisoned; the values after its end show whether a kernel writes there. */
struct array {
	enum value_type type;
	int64_t count;
	void *values;
};

static inline struct array array_new(enum value_type type, int64_t count)
{
	size_t bytes = (size_t)count * value_bytes(type) + GUARD;
	struct array a = {type, count, malloc(bytes)};

	ck_assert_ptr_nonnull(a.values);
	memset(a.values, POISON, bytes);
	return a;
}

static inline void array_free(struct array *a, const char *name)
{
	const unsigned char *behind =
		(unsigned char *)a->values + (size_t)a->count * value_bytes(a->type);

	for (int i = 0; i < GUARD; i++)
		if (behind[i] != POISON)
			ck_abort_msg("%s: written behind the end", name);
	free(a->values);
}

static inline double array_get(const struct array *a, int64_t i)
{
	return value_get(a->type, a->values, i);
}

/* Multiples of 1/8 from -4 to 4, so that there are ties and zeros, and every type has them. */
static inline struct array array_random(enum value_type type, int64_t count,
					struct random_generator *random)
{
	struct array a = array_new(type, count);

	for (int64_t i = 0; i < count; i++)
		value_set(type, a.values, i, ((int)(random_u32(random) % 65) - 32) / 8.0);
	return a;
}

static inline bool same_value(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

#endif
