/* SPDX-License-Identifier: MIT */
/* Types of values on devices. Parameters are float; float16 and bfloat16 round to nearest even. */
#ifndef KERNELS_VALUE_H
#define KERNELS_VALUE_H

#include <stddef.h>
#include <stdint.h>

enum value_type { VALUE_FLOAT32, VALUE_BFLOAT16, VALUE_FLOAT16, VALUE_FLOAT64 };

/* Values in rows of `row`, each `pitch` after the one before; between rows is padding, which is
 * neither read nor written. row == pitch: dense. */
struct value_rows {
	void *memory; /* NULL: there are none */
	enum value_type type;
	int32_t row, pitch;
};

#ifdef __cplusplus
extern "C" {
#endif

size_t value_bytes(enum value_type type);
const char *value_name(enum value_type type); /* "float32" */

/* One value of an array of that type. */
double value_get(enum value_type type, const void *values, int64_t index);
void value_set(enum value_type type, void *values, int64_t index, double value);

#ifdef __cplusplus
}
#endif

/* The type of parameters of operations on such values: float, or double for double. */
static inline enum value_type value_of_parameters(enum value_type type)
{
	return type == VALUE_FLOAT64 ? VALUE_FLOAT64 : VALUE_FLOAT32;
}

#endif
