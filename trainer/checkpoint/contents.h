/* SPDX-License-Identifier: MIT */
/* A checkpoint as the names and texts of its file. */
#ifndef TRAIN_CHECKPOINT_CONTENTS_H
#define TRAIN_CHECKPOINT_CONTENTS_H

#include "checkpoint/checkpoint.h"

#define CHECKPOINT_OPTIMIZER "optimizer."
#define CHECKPOINT_MODULE "module."
#define CHECKPOINT_VERSION "1"

/* Parameters, buffers and counters, then the parameters of each slot, by their names in the file.
 */
struct contents {
	struct safetensors_tensor *tensors;
	void **data; /* of the run, to load into */
	size_t count;
};

bool contents_make(struct contents *ret, const struct checkpoint *what, struct train_error *error);
void contents_free(struct contents *contents);

/* Whether all values of an F32 tensor of the file are finite. Parameters must be; the state of an
 * optimizer may have overflowed in a good run. */
bool contents_finite(const struct safetensors *file, const struct safetensors_tensor *tensor,
		     struct train_error *error);

/* Progress as texts; they point into numbers. */
enum { PROGRESS_TEXTS = 9, PROGRESS_NUMBER = 32 };
struct progress_texts {
	struct safetensors_text texts[PROGRESS_TEXTS];
	char numbers[PROGRESS_TEXTS][PROGRESS_NUMBER];
};

void progress_print(struct progress_texts *texts, const struct checkpoint_progress *progress);

/* False: the text of *key is missing, or not one that progress_print writes. */
bool progress_scan(struct checkpoint_progress *progress, const struct safetensors *file,
		   const char **key);

#endif
