/* SPDX-License-Identifier: MIT */
/* Images and labels in memory, as bytes: read or made once, normalised when a batch is taken. */
#ifndef TRAIN_DATASET_H
#define TRAIN_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* An image: `channels` planes of height x width bytes, row by row. A vector: n x 1 x 1. */
struct dataset_shape {
	int channels;
	int height;
	int width;
};

enum { DATASET_MAX_CLASSES = 256 };

/*
 * `samples` records of 1 + channels * height * width bytes, as the files of CIFAR-10 have them:
 * the label, which is below `classes`, then the planes.
 */
struct dataset {
	struct dataset_shape shape;
	int classes;
	int64_t samples;
	uint8_t *records; /* owned, like all that follows */

	/*
	 * values[256 * channel + byte]: the value of a byte for the network, ((float)byte / 255 -
	 * mean) / std, each operation rounded to float as torchvision's ToTensor and Normalize do
	 * it.
	 */
	float *values;
};

/* The scale of a channel, in units of 1 for the byte 255. */
struct dataset_scale {
	float mean;
	float std;
};

/* Bytes of an image, and of its record. */
static inline size_t dataset_pixels(const struct dataset_shape *shape)
{
	return (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
}

static inline size_t dataset_record(const struct dataset_shape *shape)
{
	return 1 + dataset_pixels(shape);
}

/*
 * Takes shape, classes and samples from *dataset and makes room for the records, all bytes 0.
 * Channel c has scales[c % count]. False without memory; then there is nothing to free.
 */
bool dataset_init(struct dataset *dataset, const struct dataset_scale *scales, int count,
		  struct train_error *error);

void dataset_free(struct dataset *dataset);

/*
 * Samples first .. first + samples - 1 of an endless series that depends on shape, classes and
 * seed, for training without files. A part that begins where another ends can test what was learnt
 * from that. A label is random; the image is 1/4 the pattern of its class, which is 4 x 4 fields of
 * random grey in each channel, and 3/4 noise. Its scale: mean 0.5, std 0.25.
 */
struct dataset_synthetic {
	struct dataset_shape shape;
	int classes;
	int64_t first; /* 0 or more, below 2^62 */
	int64_t samples;
	uint64_t seed;
};

bool dataset_make(struct dataset *dataset, const struct dataset_synthetic *synthetic,
		  struct train_error *error);

#endif
