/* SPDX-License-Identifier: MIT */
/*
 * CIFAR-10 in its binary version (Krizhevsky, "Learning Multiple Layers of Features from Tiny
 * Images", 2009): data_batch_1.bin to data_batch_5.bin and test_batch.bin, each of 10,000 records
 * of 3073 bytes: the label 0..9, then 32 x 32 bytes of red, of green and of blue.
 */
#ifndef TRAIN_CIFAR10_H
#define TRAIN_CIFAR10_H

#include "dataset.h"

enum cifar10_part { CIFAR10_TRAIN, CIFAR10_TEST };

enum { CIFAR10_SIDE = 32, CIFAR10_CLASSES = 10, CIFAR10_RECORDS = 10000, CIFAR10_RECORD = 3073 };

/*
 * Mean and standard deviation of all pixels of the 50,000 training images, by channel:
 * mean 0.4914 0.4822 0.4465, std 0.2470 0.2435 0.2616. (The 0.2023 0.1994 0.2010 that many
 * programs use are the mean of the images' own standard deviations.)
 */
extern const struct dataset_scale cifar10_scales[3];

/*
 * Reads all files of a part. Each must have `records` records, or any number of whole ones if that
 * is 0. False, with one line that names the file, and the record if it is one: TRAIN_BAD_INPUT;
 * or TRAIN_FAILED when memory or the disk fails. Then there is nothing to free.
 */
bool cifar10_read(struct dataset *dataset, const char *folder, enum cifar10_part part,
		  int64_t records, struct train_error *error);

#endif
