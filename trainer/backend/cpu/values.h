/* SPDX-License-Identifier: MIT */
/* Values of float32 or bfloat16 in loops for several processors. `half` is a constant where these
 * are inlined. */
#ifndef TRAIN_BACKEND_CPU_VALUES_H
#define TRAIN_BACKEND_CPU_VALUES_H

#include "base/simd.h"
#include "kernels/bf16.h"

SIMD_BODY float cpu_get(bool half, const void *from, int64_t index)
{
	return half ? bf16_to_float(((const uint16_t *)from)[index]) : ((const float *)from)[index];
}

SIMD_BODY void cpu_set(bool half, void *to, int64_t index, float value)
{
	if (half)
		((uint16_t *)to)[index] = bf16_from_float(value);
	else
		((float *)to)[index] = value;
}

#endif
