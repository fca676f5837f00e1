/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>

#include "kernels/references.h"

/* One output: its index, and the beginning of its window in the input. */
struct window {
	int64_t output, input, row; /* row: values from one row of the input to the next */
	int32_t channels, kernel;
};

typedef void window_fn(const void *args, const struct window *window);

/* Of an input (batch, height, width, channels). */
static void each_window(int64_t batch, const int32_t shape[3], int32_t kernel, window_fn *fn,
			const void *args)
{
	int32_t height = shape[0], width = shape[1], channels = shape[2];
	struct window w = {0, 0, (int64_t)width * channels, channels, kernel};

	for (int64_t n = 0; n < batch; n++)
		for (int32_t y = 0; y < height / kernel; y++)
			for (int32_t x = 0; x < width / kernel; x++)
				for (int32_t c = 0; c < channels; c++, w.output++) {
					w.input = ((n * height + y * kernel) * width + x * kernel) *
							  channels +
						  c;
					fn(args, &w);
				}
}

static void pool_window(const void *arguments, const struct window *w)
{
	const struct max_pool_args *args = arguments;
	double max = value_get(args->type, args->input, w->input);
	int place = 0;

	for (int i = 0; i < w->kernel; i++)
		for (int j = 0; j < w->kernel; j++) {
			double value = value_get(args->type, args->input,
						 w->input + i * w->row + j * w->channels);

			if (value > max || isnan(value)) {
				max = value;
				place = i * w->kernel + j;
			}
		}
	value_set(args->type, args->output, w->output, max);
	if (args->places)
		args->places[w->output] = (uint8_t)place;
}

void reference_max_pool(const struct max_pool_args *args)
{
	const int32_t shape[3] = {args->height, args->width, args->channels};

	each_window(args->batch, shape, args->kernel, pool_window, args);
}

static void give_window(const void *arguments, const struct window *w)
{
	const struct max_pool_backward_args *args = arguments;
	int place = args->places[w->output];
	bool passes = !args->output || value_get(args->type, args->output, w->output) > 0;

	if (passes)
		value_set(args->type, args->input_gradient,
			  w->input + place / w->kernel * w->row + place % w->kernel * w->channels,
			  value_get(args->type, args->output_gradient, w->output));
}

void reference_max_pool_backward(const struct max_pool_backward_args *args)
{
	const int32_t shape[3] = {args->height, args->width, args->channels};
	int64_t rows = args->batch * args->height * args->width;
	const struct bias_gradient_args sums = {.gradient = args->input_gradient,
						.sums = args->sums,
						.rows = rows,
						.columns = args->channels,
						.type = args->type};

	for (int64_t i = 0; i < rows * args->channels; i++)
		value_set(args->type, args->input_gradient, i, 0);
	each_window(args->batch, shape, args->kernel, give_window, args);
	if (args->sums)
		reference_bias_gradient(&sums);
}
