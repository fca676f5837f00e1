/* SPDX-License-Identifier: MIT */
/* kernels/max_pool.h */
#include <math.h>

#include "tests/trainer/kernels/references.h"

/* An output place, in (batch, out_height, out_width). */
struct place {
	int64_t n;
	int32_t y, x;
};

/* The index of the input's channel 0 at (i, j) of the window of an output; -1: outside. */
static int64_t input_at(const struct max_pool_shape *s, const struct place *o, int32_t i, int32_t j)
{
	int32_t y = o->y * s->stride - s->pad + i, x = o->x * s->stride - s->pad + j;

	if (y < 0 || y >= s->height || x < 0 || x >= s->width)
		return -1;
	return ((o->n * s->height + y) * s->width + x) * s->channels;
}

static struct place place_of(const struct max_pool_shape *s, int64_t row)
{
	int64_t line = row / s->out_width;

	return (struct place){line / s->out_height, (int32_t)(line % s->out_height),
			      (int32_t)(row % s->out_width)};
}

static int64_t outputs(const struct max_pool_shape *s)
{
	return s->batch * s->out_height * s->out_width;
}

static void pool(const struct max_pool_args *a, int64_t row, int32_t c)
{
	const struct max_pool_shape *s = &a->shape;
	const struct place o = place_of(s, row);
	int place = -1;
	double max = 0;

	for (int32_t i = 0; i < s->kernel; i++)
		for (int32_t j = 0; j < s->kernel; j++) {
			int64_t at = input_at(s, &o, i, j);
			double value;

			if (at < 0)
				continue;
			value = value_get(s->type, a->input, at + c);
			if (place < 0 || value > max || isnan(value)) {
				max = value;
				place = i * s->kernel + j;
			}
		}
	value_set(s->type, a->output, row * s->channels + c, max);
	if (a->places)
		a->places[row * s->channels + c] = (uint8_t)place;
}

void reference_max_pool(const struct max_pool_args *a)
{
	for (int64_t row = 0; row < outputs(&a->shape); row++)
		for (int32_t c = 0; c < a->shape.channels; c++)
			pool(a, row, c);
}

/* The gradient of the output at (y - i) / stride, (x - j) / stride, if its value is at (i, j) of
 * its window; y and x count the padding. */
static double gradient_from(const struct max_pool_backward_args *a, const struct place *at,
			    int32_t place, int32_t c)
{
	const struct max_pool_shape *s = &a->shape;
	int32_t y = at->y + s->pad - place / s->kernel, x = at->x + s->pad - place % s->kernel;
	int64_t output;

	if (y < 0 || x < 0 || y % s->stride || x % s->stride || y / s->stride >= s->out_height ||
	    x / s->stride >= s->out_width)
		return 0;
	output = ((at->n * s->out_height + y / s->stride) * s->out_width + x / s->stride) *
			 s->channels +
		 c;
	if (a->places[output] != place ||
	    (a->output && !(value_get(s->type, a->output, output) > 0)))
		return 0;
	return value_get(s->type, a->output_gradient, output);
}

void reference_max_pool_backward(const struct max_pool_backward_args *a)
{
	const struct max_pool_shape *s = &a->shape;
	const struct bias_gradient_args sums = {.gradient = a->input_gradient,
						.sums = a->sums,
						.rows = max_pool_inputs(s),
						.columns = s->channels,
						.type = s->type};

	for (int64_t row = 0; row < sums.rows; row++) {
		int64_t line = row / s->width;
		const struct place at = {line / s->height, (int32_t)(line % s->height),
					 (int32_t)(row % s->width)};

		for (int32_t c = 0; c < s->channels; c++) {
			double sum = 0;

			for (int32_t i = 0; i < s->kernel * s->kernel; i++)
				sum += gradient_from(a, &at, i, c);
			value_set(s->type, a->input_gradient, row * s->channels + c, sum);
		}
	}
	if (a->sums)
		reference_bias_gradient(&sums);
}
