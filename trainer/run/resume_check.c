/* SPDX-License-Identifier: MIT */
/* See resume_check.h. */
#include "run/resume_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "settings/rows.h"

enum may { SAME, SAME_SCHEDULE, DIFFER, DIFFER_SILENTLY };

/* The settings that a checkpoint has, and whether they may differ. */
static const struct {
	enum row_id row;
	enum may may;
	const char *key, *option; /* NULL: the row's */
} table[RESUME_TEXTS] = {
	{ROW_model, SAME, NULL, NULL},
	{ROW_optimizer, SAME, NULL, NULL},
	{ROW_sampler, SAME, NULL, NULL},
	{ROW_tail, SAME, NULL, NULL},
	{ROW_drop_last, SAME, NULL, NULL},
	{ROW_augment, SAME, NULL, NULL},
	{ROW_global_batch, SAME, NULL, NULL},
	{ROW_samples, SAME, NULL, NULL},
	{ROW_data, DIFFER_SILENTLY, NULL, NULL},
	{ROW_schedule, DIFFER, NULL, NULL},
	{ROW_steps, SAME_SCHEDULE, "schedule_steps", "steps in all (--epochs, --steps)"},
	{ROW_lr, DIFFER, NULL, NULL},
	{ROW_lr_min, DIFFER, NULL, NULL},
	{ROW_warmup, DIFFER, NULL, NULL},
	{ROW_momentum, DIFFER, NULL, "--momentum or --beta1"},
	{ROW_beta2, DIFFER, NULL, NULL},
	{ROW_eps, DIFFER, NULL, NULL},
	{ROW_weight_decay, DIFFER, NULL, NULL},
	{ROW_clip_norm, DIFFER, NULL, NULL},
	{ROW_nesterov, DIFFER, NULL, NULL},
	{ROW_precision, DIFFER, NULL, NULL},
	{ROW_image_size, SAME, NULL, NULL},
};

/* With the numbers in effect, which follow from others if they are not given. */
void resume_facts_of(struct resume_facts *facts, const struct training *t, int64_t steps)
{
	struct settings s = *t->settings;

	s.global_batch = t->global_batch;
	s.samples = t->train.samples;
	s.steps = steps;
	s.image_size = t->spec->height;
	for (int i = 0; i < RESUME_TEXTS; i++) {
		const struct row *row = &rows[table[i].row];
		const char *text = row_text(row, &s);

		if (!text)
			row_write(facts->values[i], sizeof(facts->values[i]), row, &s);
		facts->texts[i] = (struct safetensors_text){table[i].key ? table[i].key : row->name,
							    text ? text : facts->values[i]};
	}
}

static bool differs(const struct safetensors *file, const char *option, const char *was,
		    const char *is, struct train_error *error)
{
	/* The weights of another model do not fit. */
	if (strcmp(option, "--model") == 0)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"%s: it was trained with %s %s, and this run has %s; give --model "
			"%s, or another folder",
			file->path, option, was, is, was);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: it was trained with %s %s, and this run has %s; give the same, or "
			  "begin again from its weights: write --weights FILE in place of --resume",
			  file->path, option, was, is);
}

/* Only for generated images is the size of the data an option. */
static bool other_size(const struct training *t, const struct safetensors *file, const char *was,
		       const char *is, struct train_error *error)
{
	const char *data = safetensors_text(file, "data");

	if (strcmp(t->settings->data, "synthetic") == 0 &&
	    (!data || strcmp(data, "synthetic") == 0))
		return differs(file, "--samples", was, is, error);
	return train_fail(
		error, TRAIN_BAD_INPUT,
		"%s: it was trained with --data %.200s of %s images, and this run has %s; "
		"give the same --data, or begin again from its weights: write --weights FILE in "
		"place of --resume",
		file->path, data ? data : "DIR", was, is);
}

/* Another schedule has a remark of its own. */
static bool has_length(const struct training *t, const struct safetensors *file)
{
	const char *was = safetensors_text(file, "schedule");
	char is[RESUME_VALUE];

	row_write(is, sizeof(is), &rows[ROW_schedule], t->settings);
	return t->settings->schedule != SCHEDULE_CONSTANT && was && strcmp(was, is) == 0;
}

static bool compare(const struct training *t, const struct resume_facts *here,
		    const struct safetensors *file, struct train_error *error)
{
	for (int i = 0; i < RESUME_TEXTS; i++) {
		const char *there = safetensors_text(file, here->texts[i].key);
		const char *value = here->texts[i].value, *option = table[i].option;

		if (!there || strcmp(there, value) == 0)
			continue;
		if (!option)
			option = rows[table[i].row].option;
		if (table[i].row == ROW_samples)
			return other_size(t, file, there, value, error);
		if (table[i].may == SAME || (table[i].may == SAME_SCHEDULE && has_length(t, file)))
			return differs(file, option, there, value, error);
		if (table[i].may == DIFFER)
			fprintf(stderr,
				"gpumap-train: remark: %s: it was trained with %s %.40s, and "
				"continues with %s\n",
				file->path, option, there, value);
	}
	return true;
}

bool resume_check(const struct training *t, int64_t steps, const struct safetensors *file,
		  const struct checkpoint_progress *progress, struct train_error *error)
{
	struct resume_facts here;
	char was[24], is[24];

	snprintf(was, sizeof(was), "%" PRIu64, progress->seed);
	snprintf(is, sizeof(is), "%" PRIu64, t->settings->seed);
	if (strcmp(was, is) != 0)
		return differs(file, "--seed", was, is, error);
	/* Each epoch has a step. */
	if (progress->epoch > progress->step || progress->elapsed_ms > INT64_MAX / 1000000)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: damaged: epoch %" PRId64 " after %" PRId64 " steps and "
				  "%" PRId64 " ms; use another checkpoint",
				  file->path, progress->epoch, progress->step,
				  progress->elapsed_ms);
	resume_facts_of(&here, t, steps);
	if (!compare(t, &here, file, error))
		return false;
	if (progress->position % t->global_batch == 0)
		return true;
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: %" PRId64 " samples into an epoch are not a multiple of a step of "
			  "%" PRId64 "; give the --global-batch that it was trained with",
			  file->path, progress->position, t->global_batch);
}
