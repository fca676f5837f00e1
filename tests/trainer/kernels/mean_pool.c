/* SPDX-License-Identifier: MIT */
/* kernels/mean_pool.h */
#include "tests/trainer/kernels/references.h"

void reference_mean_pool(const struct mean_pool_args *a)
{
	for (int64_t n = 0; n < a->batch; n++)
		for (int32_t c = 0; c < a->channels; c++) {
			double sum = 0;

			for (int64_t place = 0; place < a->places; place++)
				sum += value_get(a->type, a->input,
						 (n * a->places + place) * a->padded + c);
			value_set(a->type, a->output, n * a->channels + c, sum / (double)a->places);
		}
}

void reference_mean_pool_backward(const struct mean_pool_backward_args *a)
{
	for (int64_t row = 0; row < a->batch * a->places; row++)
		for (int32_t c = 0; c < a->padded; c++) {
			int64_t from = row / a->places * a->channels + c;

			value_set(a->type, a->input_gradient, row * a->padded + c,
				  c < a->channels ? value_get(a->type, a->output_gradient, from) /
							    (double)a->places
						  : 0);
		}
}
