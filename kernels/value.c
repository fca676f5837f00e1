/* SPDX-License-Identifier: MIT */
/* See value.h. */
#include "kernels/value.h"

#include "kernels/bf16.h"

size_t value_bytes(enum value_type type)
{
	switch (type) {
	case VALUE_BFLOAT16:
	case VALUE_FLOAT16:
		return 2;
	case VALUE_FLOAT64:
		return 8;
	case VALUE_FLOAT32:
		break;
	}
	return 4;
}

const char *value_name(enum value_type type)
{
	static const char *const names[] = {"float32", "bfloat16", "float16", "float64"};

	return names[type];
}

double value_get(enum value_type type, const void *values, int64_t index)
{
	switch (type) {
	case VALUE_BFLOAT16:
		return (double)bf16_to_float(((const uint16_t *)values)[index]);
	case VALUE_FLOAT16:
		return (double)fp16_to_float(((const uint16_t *)values)[index]);
	case VALUE_FLOAT64:
		return ((const double *)values)[index];
	case VALUE_FLOAT32:
		break;
	}
	return (double)((const float *)values)[index];
}

void value_set(enum value_type type, void *values, int64_t index, double value)
{
	switch (type) {
	case VALUE_BFLOAT16:
		((uint16_t *)values)[index] = bf16_from_float((float)value);
		break;
	case VALUE_FLOAT16:
		((uint16_t *)values)[index] = fp16_from_float((float)value);
		break;
	case VALUE_FLOAT64:
		((double *)values)[index] = value;
		break;
	case VALUE_FLOAT32:
		((float *)values)[index] = (float)value;
		break;
	}
}
