/* SPDX-License-Identifier: MIT */
/* kernels/input_fill.h */
#include "kernels/augment.h"
#include "tests/trainer/kernels/references.h"

static double pixel(const struct input_fill_args *args, const uint8_t *plane, int c, int y, int x)
{
	bool inside = y >= 0 && y < args->from_height && x >= 0 && x < args->from_width;

	return (double)args->values[256 * c + (inside ? plane[y * args->from_width + x] : 0)];
}

static void fill_row(const struct input_fill_args *args, int64_t row, const uint8_t *planes,
		     const struct augment_place *place)
{
	int64_t at = row * args->height * args->width * args->padded;
	int size = args->from_height * args->from_width;

	for (int y = 0; y < args->height; y++)
		for (int x = 0; x < args->width; x++)
			for (int c = 0; c < args->padded; c++, at++) {
				int from = place->mirrored ? args->width - 1 - x : x;
				double value =
					c < args->channels
						? pixel(args, planes + (ptrdiff_t)c * size, c,
							place->top + y, place->left + from)
						: 0;

				value_set(args->type, args->images, at, value);
			}
}

void reference_input_fill(const struct input_fill_args *args)
{
	const struct augment_cut cut = {args->from_height, args->from_width,   args->height,
					args->width,       args->augment != 0, args->seed};
	size_t bytes =
		1 + (size_t)args->channels * (size_t)args->from_height * (size_t)args->from_width;
	int64_t rows = launch_min(args->control->rows, args->batch);

	for (int64_t i = 0; i < rows; i++) {
		int64_t sample = args->indices[i];
		const uint8_t *record = args->records + (size_t)sample * bytes;
		struct augment_place place = augment_place(&cut, args->control->epoch, sample);

		args->labels[i] = record[0];
		fill_row(args, i, record + 1, &place);
	}
}
