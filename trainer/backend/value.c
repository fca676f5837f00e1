/* SPDX-License-Identifier: MIT */
#include "backend/value.h"

#include <math.h>
#include <string.h>

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

static float bfloat16_get(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint16_t bfloat16_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float16_get(uint16_t half)
{
	int exponent = half >> 10 & 31, fraction = half & 1023;
	float value = exponent == 31 ? (fraction ? NAN : INFINITY)
		      : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
				     : ldexpf((float)fraction, -24);

	return half & 0x8000 ? -value : value;
}

static uint16_t float16_of(float value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	float size = fabsf(value);
	int exponent;

	if (value != value)
		return sign | 0x7e00;
	if (size >= 65520.0f) /* the middle between the greatest and what would follow */
		return sign | 0x7c00;
	if (size < 0x1p-14f)
		return (uint16_t)(sign | (int)nearbyintf(size * 0x1p24f));
	frexpf(size, &exponent); /* size = [0.5, 1) * 2^exponent; a carry goes into the exponent */
	return (uint16_t)(sign + ((exponent + 13) << 10) +
			  (int)nearbyintf(ldexpf(size, 11 - exponent)));
}

double value_get(enum value_type type, const void *values, int64_t index)
{
	switch (type) {
	case VALUE_BFLOAT16:
		return (double)bfloat16_get(((const uint16_t *)values)[index]);
	case VALUE_FLOAT16:
		return (double)float16_get(((const uint16_t *)values)[index]);
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
		((uint16_t *)values)[index] = bfloat16_of((float)value);
		break;
	case VALUE_FLOAT16:
		((uint16_t *)values)[index] = float16_of((float)value);
		break;
	case VALUE_FLOAT64:
		((double *)values)[index] = value;
		break;
	case VALUE_FLOAT32:
		((float *)values)[index] = (float)value;
		break;
	}
}
