/* SPDX-License-Identifier: MIT */
/*
 * Makes a batch from bytes, as batch_fill() does (data/batch.h): chosen, cropped, mirrored and
 * normalised, but in NHWC, in the type of the model, with channels padded by zeros. Rows from
 * control->rows on, or from `batch` on if that is less, stay unchanged, and so do their labels.
 */
#ifndef KERNELS_INPUT_FILL_H
#define KERNELS_INPUT_FILL_H

#include <stdbool.h>

#include "kernels/control.h"
#include "kernels/philox.h"
#include "kernels/value.h"

enum { INPUT_PADDING = 4 }; /* pixels on each side of an image */

/* How images are cropped. */
struct input_cut {
	int from_height, from_width; /* of an image */
	int height, width;           /* of the result */
	bool augment;                /* mirrored and moved at random */
	uint64_t seed;
};

/* The crop of an image: pixel (y, x) is that at (top + y, left + x), or 0 outside. */
struct input_place {
	int top;
	int left;
	bool mirrored; /* pixel (y, x) is the one at (top + y, left + width - 1 - x) */
};

/* It depends only on these arguments (philox.h). Without augment it is the middle: top =
 * (from_height - height) / 2. */
HOST_DEVICE struct input_place input_place(const struct input_cut *cut, int64_t epoch,
					   int64_t sample)
{
	struct random_key key = {cut->seed, RANDOM_AUGMENT, (uint32_t)epoch, sample};
	struct input_place place = {(cut->from_height - cut->height) / 2,
				    (cut->from_width - cut->width) / 2, false};
	uint32_t bits[4];

	if (!cut->augment)
		return place;
	random_keyed(bits, &key, 0);
	place.mirrored = random_below(bits[0], 2) == 1;
	place.top += (int)random_below(bits[1], 2 * INPUT_PADDING + 1) - INPUT_PADDING;
	place.left += (int)random_below(bits[2], 2 * INPUT_PADDING + 1) - INPUT_PADDING;
	return place;
}

struct input_fill_args {
	const uint8_t *records; /* (samples, 1 + channels * from_height * from_width): the label,
				 * then the planes; any alignment */
	const float *values;    /* (channels, 256): the value of a byte for the network */
	const int64_t *indices; /* (batch): the sample of each row */
	const struct pass_control *control; /* epoch and rows */
	void *images;                       /* (batch, height, width, padded) */
	int32_t *labels;                    /* (batch) */
	int64_t batch;
	enum value_type type;            /* of images */
	int32_t channels, padded;        /* padded >= channels */
	int32_t from_height, from_width; /* of a record */
	int32_t height, width;           /* of the images */
	int32_t augment;                 /* struct input_cut */
	uint64_t seed;
};

#endif
