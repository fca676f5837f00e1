/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include <string.h>

#include "tests/trainer/kernels/references.h"

void reference_convert(const struct convert_args *args)
{
	if (args->count > 0 && args->from_type == args->to_type) {
		memcpy(args->to, args->from, (size_t)args->count * value_bytes(args->to_type));
		return;
	}
	for (int64_t i = 0; i < args->count; i++)
		value_set(args->to_type, args->to, i, value_get(args->from_type, args->from, i));
}
