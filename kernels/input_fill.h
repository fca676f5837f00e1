/* SPDX-License-Identifier: MIT */
/*
 * Makes a batch from bytes, as batch_fill() does (data/batch.h): chosen, cropped, mirrored and
 * normalised, but in NHWC, in the type of the model, with channels padded by zeros. Rows from
 * control->rows on, or from `batch` on if that is less, stay unchanged, and so do their labels.
 */
#ifndef KERNELS_INPUT_FILL_H
#define KERNELS_INPUT_FILL_H

#include <stdint.h>

#include "kernels/control.h"
#include "kernels/value.h"

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
	int32_t augment;                 /* struct augment_cut */
	uint64_t seed;
};

#endif
