/* SPDX-License-Identifier: MIT */
/* Shared by reading and writing. */
#include "checkpoint/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t bytes; /* of an element */
} dtypes[SAFETENSORS_DTYPES] = {
	[SAFETENSORS_BOOL] = {"BOOL", 1},       [SAFETENSORS_U8] = {"U8", 1},
	[SAFETENSORS_I8] = {"I8", 1},           [SAFETENSORS_F8_E5M2] = {"F8_E5M2", 1},
	[SAFETENSORS_F8_E4M3] = {"F8_E4M3", 1}, [SAFETENSORS_I16] = {"I16", 2},
	[SAFETENSORS_U16] = {"U16", 2},         [SAFETENSORS_F16] = {"F16", 2},
	[SAFETENSORS_BF16] = {"BF16", 2},       [SAFETENSORS_I32] = {"I32", 4},
	[SAFETENSORS_U32] = {"U32", 4},         [SAFETENSORS_F32] = {"F32", 4},
	[SAFETENSORS_F64] = {"F64", 8},         [SAFETENSORS_I64] = {"I64", 8},
	[SAFETENSORS_U64] = {"U64", 8},
};

const char *safetensors_dtype_name(enum safetensors_dtype dtype)
{
	return dtypes[dtype].name;
}

bool safetensors_bytes(size_t *bytes, const struct safetensors_tensor *tensor)
{
	size_t n = dtypes[tensor->dtype].bytes;

	for (int i = 0; i < tensor->shape.dims; i++)
		if (tensor->shape.size[i] < 0 ||
		    __builtin_mul_overflow(n, (size_t)tensor->shape.size[i], &n))
			return false;
	*bytes = n;
	return true;
}

const char *safetensors_shape(char text[SAFETENSORS_SHAPE_TEXT], const struct tensor_shape *shape)
{
	size_t n = 0;

	text[n++] = '[';
	for (int i = 0; i < shape->dims; i++)
		n += (size_t)snprintf(text + n, SAFETENSORS_SHAPE_TEXT - n, "%s%" PRId64,
				      i ? ", " : "", shape->size[i]);
	text[n++] = ']';
	text[n] = '\0';
	return text;
}
