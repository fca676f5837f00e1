/* SPDX-License-Identifier: MIT */
/* The settings of a checkpoint that a run must share to continue from it. */
#ifndef TRAIN_RUN_RESUME_CHECK_H
#define TRAIN_RUN_RESUME_CHECK_H

#include "checkpoint/checkpoint.h"
#include "run/training.h"

enum { RESUME_TEXTS = 22, RESUME_VALUE = 32 };

struct resume_facts {
	char values[RESUME_TEXTS][RESUME_VALUE];
	struct safetensors_text texts[RESUME_TEXTS];
};

/* The texts in a checkpoint of this training run, which has `steps` in all. They point into the
 * facts and the settings, so the struct must not move. */
void resume_facts_of(struct resume_facts *facts, const struct training *training, int64_t steps);

/* The seed, the model, the optimizer and everything that decides the order of samples must be the
 * same, or the losses would be those of no single run; so must the length of a schedule that has
 * one. Otherwise bad input that names the option. Other settings of the optimizer and the layers
 * may change, with a remark on stderr; `data` without one, since folders move. */
bool resume_check(const struct training *training, int64_t steps, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error);

#endif
