/* SPDX-License-Identifier: MIT */
/* What a checkpoint was trained with, and a run that goes on from it must have too. */
#ifndef TRAIN_RUN_ORIGIN_H
#define TRAIN_RUN_ORIGIN_H

#include "checkpoint/checkpoint.h"
#include "run/training.h"

enum { ORIGIN_TEXTS = 8 };

struct origin {
	char numbers[2][24];
	struct safetensors_text texts[ORIGIN_TEXTS];
};

/* The texts that a checkpoint of this training keeps. They point into the origin and the settings,
 * so it must stay where it is. */
void origin_of(struct origin *origin, const struct training *training);

/* The seed, the model, the optimizer and all that the order of samples follows from must be the
 * same, or the losses would go on as those of no run. Otherwise bad input that names the option;
 * `data` may differ, as folders move. */
bool origin_check(const struct training *training, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error);

#endif
