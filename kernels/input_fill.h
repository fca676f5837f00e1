/* SPDX-License-Identifier: MIT */
/*
 * A batch from bytes, as batch_fill() (data/batch.h): chosen, cut out, mirrored, normalised; but in
 * NHWC, in the type of the model, channels padded with zeros. Rows from control->rows on, or from
 * `batch` on if that is less, are left as they are, labels too.
 */
#ifndef KERNELS_INPUT_FILL_H
#define KERNELS_INPUT_FILL_H

#include "backend/control.h"
#include "backend/value.h"

struct input_fill_args {
	const uint8_t *records; /* (samples, 1 + channels * from_height * from_width): the label,
				 * then the planes; any alignment */
	const float *values;    /* (channels, 256): what a byte is to the network */
	const int64_t *indices; /* (batch): the sample of each row */
	const struct pass_control *control; /* epoch and rows */
	void *images;                       /* (batch, height, width, padded) */
	int32_t *labels;                    /* (batch) */
	int64_t batch;
	enum value_type type;            /* of images */
	int32_t channels, padded;        /* padded >= channels */
	int32_t from_height, from_width; /* of a record */
	int32_t height, width;           /* of what comes out */
	int32_t augment;                 /* struct batch_options */
	uint64_t seed;
};

#endif
