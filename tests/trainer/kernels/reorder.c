/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include "tests/trainer/kernels/references.h"

static void move(const struct reorder_args *args, int64_t dense, int64_t padded)
{
	if (args->to_nhwc)
		value_set(args->to_type, args->to, padded,
			  value_get(args->from_type, args->from, dense));
	else
		value_set(args->to_type, args->to, dense,
			  value_get(args->from_type, args->from, padded));
}

void reference_reorder(const struct reorder_args *args)
{
	int64_t places = (int64_t)args->height * args->width;

	for (int64_t n = 0; n < args->batch; n++)
		for (int64_t i = 0; i < places; i++) {
			int64_t to = (n * places + i) * args->padded;

			for (int32_t c = 0; c < args->channels; c++)
				move(args, (n * args->channels + c) * places + i, to + c);
			for (int32_t c = args->channels; args->to_nhwc && c < args->padded; c++)
				value_set(args->to_type, args->to, to + c, 0);
		}
}
