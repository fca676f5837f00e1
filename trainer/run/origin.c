/* SPDX-License-Identifier: MIT */
#include "run/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each text, and the option that it comes from; NULL: it may differ. */
static const struct {
	const char *key, *option;
} table[ORIGIN_TEXTS] = {
	{"model", "--model"},        {"optimizer", "--optimizer"},
	{"sampler", "--sampler"},    {"tail", "--tail"},
	{"augment", "--augment"},    {"global_batch", "--global-batch"},
	{"samples", "data of size"}, {"data", NULL},
};

void origin_of(struct origin *origin, const struct training *t)
{
	static const char *const optimizers[] = {"sgd", "adam", "adamw"};
	static const char *const samplers[] = {"shuffled", "in-order", "random"};
	static const char *const tails[] = {"pad", "drop", "short"};
	const struct settings *s = t->settings;
	const char *values[ORIGIN_TEXTS] = {
		s->model,
		optimizers[s->optimizer.kind],
		samplers[s->sampler],
		tails[s->tail],
		s->augment ? "yes" : "no",
		origin->numbers[0],
		origin->numbers[1],
		s->data,
	};

	snprintf(origin->numbers[0], sizeof(origin->numbers[0]), "%" PRId64, t->global_batch);
	snprintf(origin->numbers[1], sizeof(origin->numbers[1]), "%" PRId64, t->train.samples);
	for (int i = 0; i < ORIGIN_TEXTS; i++)
		origin->texts[i] = (struct safetensors_text){table[i].key, values[i]};
}

static bool differs(const struct safetensors *file, const char *option, const char *was,
		    const char *is, struct train_error *error)
{
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: it was trained with %s %s, and this run has %s; give the same, or "
			  "begin anew with its weights: --weights and the file instead of --resume",
			  file->path, option, was, is);
}

bool origin_check(const struct training *t, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error)
{
	struct origin here;
	char was[24], is[24];

	snprintf(was, sizeof(was), "%" PRIu64, progress->seed);
	snprintf(is, sizeof(is), "%" PRIu64, t->settings->seed);
	if (strcmp(was, is) != 0)
		return differs(file, "--seed", was, is, error);
	origin_of(&here, t);
	for (int i = 0; i < ORIGIN_TEXTS; i++) {
		const char *there = safetensors_text(file, table[i].key);

		if (table[i].option && there && strcmp(there, here.texts[i].value) != 0)
			return differs(file, table[i].option, there, here.texts[i].value, error);
	}
	if (progress->position % t->global_batch == 0)
		return true;
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: %" PRId64 " samples into an epoch are no whole number of steps of "
			  "%" PRId64 "; give the --global-batch that it was trained with",
			  file->path, progress->position, t->global_batch);
}
