/* SPDX-License-Identifier: MIT */
/* See batch.h. */
#include "batch.h"

struct augment_place batch_place(const struct batch_options *options,
				 const struct dataset_shape *shape, int64_t epoch, int64_t sample)
{
	const struct augment_cut cut = {shape->height,  shape->width,     options->height,
					options->width, options->augment, options->seed};

	return augment_place(&cut, epoch, sample);
}

static int clamp(int n, int least, int max)
{
	return n < least ? least : n > max ? max : n;
}

/*
 * One row of `width` pixels that begins at `left` of a row of `has`; NULL: it is outside.
 * A table of values is exact, and as fast as memory.
 */
static void fill_row(float *restrict out, const uint8_t *restrict row, const float *restrict values,
		     const struct augment_place *place, int width, int has)
{
	int first = row ? clamp(-place->left, 0, width) : width;
	int last = row ? clamp(has - place->left, first, width) : width;

	for (int x = 0; x < first; x++)
		out[x] = values[0];
	for (int x = first; x < last; x++)
		out[x] = values[row[place->left + x]];
	for (int x = last; x < width; x++)
		out[x] = values[0];
}

static void mirror_row(float *row, int width)
{
	for (int x = 0; x < width / 2; x++) {
		float left = row[x];

		row[x] = row[width - 1 - x];
		row[width - 1 - x] = left;
	}
}

static void fill_image(float *out, const uint8_t *planes, const struct dataset *dataset,
		       const struct batch_options *options, const struct augment_place *place)
{
	int height = dataset->shape.height, width = dataset->shape.width;

	for (int c = 0; c < dataset->shape.channels; c++) {
		const float *values = dataset->values + 256 * (size_t)c;

		for (int y = 0; y < options->height; y++, out += options->width) {
			int from = place->top + y;
			bool inside = from >= 0 && from < height;

			fill_row(out, inside ? planes + (ptrdiff_t)from * width : NULL, values,
				 place, options->width, width);
			if (place->mirrored)
				mirror_row(out, options->width);
		}
		planes += (ptrdiff_t)height * width;
	}
}

void batch_fill(float *images, int32_t *labels, const struct dataset *dataset,
		const struct batch_options *options, int64_t epoch, const int64_t *indices,
		int64_t count)
{
	size_t pixels =
		(size_t)dataset->shape.channels * (size_t)options->height * (size_t)options->width;

	for (int64_t i = 0; i < count; i++) {
		const uint8_t *record =
			dataset->records + (size_t)indices[i] * dataset_record(&dataset->shape);
		struct augment_place place =
			batch_place(options, &dataset->shape, epoch, indices[i]);

		labels[i] = record[0];
		fill_image(images + (size_t)i * pixels, record + 1, dataset, options, &place);
	}
}
