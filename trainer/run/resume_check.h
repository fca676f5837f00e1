/* SPDX-License-Identifier: MIT */
/* What a checkpoint was trained with, and a run that goes on from it must have too. */
#ifndef TRAIN_RUN_RESUME_CHECK_H
#define TRAIN_RUN_RESUME_CHECK_H

#include "checkpoint/checkpoint.h"
#include "run/training.h"

enum { RESUME_TEXTS = 21, RESUME_NUMBERS = 11 };

struct resume_facts {
	char numbers[RESUME_NUMBERS][32];
	struct safetensors_text texts[RESUME_TEXTS];
};

/* The texts that a checkpoint of this training keeps, which has `steps` in all. They point into the
 * facts and the settings, so it must stay where it is. */
void resume_facts_of(struct resume_facts *facts, const struct training *training, int64_t steps);

/* The seed, the model, the optimizer and all that the order of samples follows from must be the
 * same, or the losses would go on as those of no run; so must the length of a schedule that has
 * one. Otherwise bad input that names the option. What else the optimizer and the layers compute
 * with may be changed, with a remark on stderr; `data` without, as folders move. */
bool resume_check(const struct training *training, int64_t steps, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error);

#endif
