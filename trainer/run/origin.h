/* SPDX-License-Identifier: MIT */
/* What a checkpoint was trained with, and a run that goes on from it must have too. */
#ifndef TRAIN_RUN_ORIGIN_H
#define TRAIN_RUN_ORIGIN_H

#include "checkpoint/checkpoint.h"
#include "run/training.h"

enum { ORIGIN_TEXTS = 21, ORIGIN_NUMBERS = 11 };

struct origin {
	char numbers[ORIGIN_NUMBERS][32];
	struct safetensors_text texts[ORIGIN_TEXTS];
};

/* The texts that a checkpoint of this training keeps, which has `steps` in all. They point into the
 * origin and the settings, so it must stay where it is. */
void origin_of(struct origin *origin, const struct training *training, int64_t steps);

/* The seed, the model, the optimizer and all that the order of samples follows from must be the
 * same, or the losses would go on as those of no run; so must the length of a schedule that has
 * one. Otherwise bad input that names the option. What else the optimizer and the layers compute
 * with may be changed, with a remark on stderr; `data` without, as folders move. */
bool origin_check(const struct training *training, int64_t steps, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error);

#endif
