/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include "tests/trainer/kernels/references.h"

void reference_bias_gradient(const struct bias_gradient_args *args)
{
	const struct relu_backward_args relu = {args->gradient, args->output,
						args->rows * args->columns, args->type};

	if (args->output)
		reference_relu_backward(&relu);
	for (int64_t c = 0; c < args->columns; c++) {
		double sum = 0;

		for (int64_t r = 0; r < args->rows; r++)
			sum += value_get(args->type, args->gradient, r * args->columns + c);
		args->sums[c] = (float)sum;
	}
}
