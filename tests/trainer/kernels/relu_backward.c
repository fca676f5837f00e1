/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include "tests/trainer/kernels/references.h"

void reference_relu_backward(const struct relu_backward_args *args)
{
	for (int64_t i = 0; i < args->count; i++)
		if (!(value_get(args->type, args->output, i) > 0))
			value_set(args->type, args->gradient, i, 0);
}
