/* SPDX-License-Identifier: MIT */
/* See first_weights.h. */
#include "first_weights.h"

#include <math.h>

int64_t init_fan_in(const struct tensor_shape *weight)
{
	int64_t n = 1;

	for (int i = 1; i < weight->dims; i++)
		n *= weight->size[i];
	return n;
}

float init_bound(int64_t fan_in)
{
	return (float)(1 / sqrt((double)fan_in));
}

void init_layer(struct random_generator *generator, const struct tensor *weight,
		const struct tensor *bias)
{
	float bound = init_bound(init_fan_in(&weight->shape));

	random_uniform(generator, weight->data, tensor_elements(&weight->shape), -bound, bound);
	if (bias)
		random_uniform(generator, bias->data, tensor_elements(&bias->shape), -bound, bound);
}

void init_kaiming(struct random_generator *generator, const struct tensor *weight)
{
	int64_t elements = tensor_elements(&weight->shape);
	double fan_out = (double)(elements / weight->shape.size[1]);

	random_normal(generator, weight->data, elements, (float)(sqrt(2.0) / sqrt(fan_out)));
}
