/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include "tests/trainer/kernels/references.h"

void reference_residual_add(const struct residual_add_args *args)
{
	for (int64_t i = 0; i < args->count; i++) {
		double sum = value_get(args->type, args->a, i) + value_get(args->type, args->b, i);

		value_set(args->type, args->output, i, args->relu && sum < 0 ? 0 : sum);
	}
}
