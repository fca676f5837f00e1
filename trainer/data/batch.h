/* SPDX-License-Identifier: MIT */
/* Batches from the bytes of a dataset: samples are chosen, cropped, mirrored and normalised. */
#ifndef TRAIN_BATCH_H
#define TRAIN_BATCH_H

#include "dataset.h"
#include "kernels/augment.h"

struct batch_options {
	int height, width; /* of the result: the middle of an image, or all of it */

	/*
	 * Mirror each image with probability 1/2, and crop it at a random place from the image with
	 * AUGMENT_PADDING bytes of 0 on each side. The effect is that of torchvision's
	 * RandomCrop(size, padding=4) and RandomHorizontalFlip, with other random numbers.
	 */
	bool augment;
	uint64_t seed;
};

/*
 * The augmentation of a sample in an epoch. It depends only on these two, the seed and the sizes
 * (Philox4x32-10), so it is the same with any number of ranks and any batch, and after a resume.
 * Without options.augment it is the middle: top = floor((H - height) / 2).
 */
struct augment_place batch_place(const struct batch_options *options,
				 const struct dataset_shape *shape, int64_t epoch, int64_t sample);

/*
 * images: count x channels x height x width (NCHW) of the samples at indices (each in
 * 0..dataset->samples - 1), normalised by dataset->values; a padded pixel is the value of byte 0.
 * labels: count of them. Time: proportional to the resulting pixels.
 */
void batch_fill(float *images, int32_t *labels, const struct dataset *dataset,
		const struct batch_options *options, int64_t epoch, const int64_t *indices,
		int64_t count);

#endif
