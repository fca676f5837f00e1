/* SPDX-License-Identifier: MIT */
/* See resume_check.h. */
#include "run/resume_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum may { SAME, SAME_SCHEDULE, DIFFER, DIFFER_SILENTLY };

/* Each text, the option that it comes from, and whether it may differ. */
static const struct {
	const char *key, *option;
	enum may may;
} table[RESUME_TEXTS] = {
	{"model", "--model", SAME},
	{"optimizer", "--optimizer", SAME},
	{"sampler", "--sampler", SAME},
	{"tail", "--tail", SAME},
	{"drop_last", "--drop-last", SAME},
	{"augment", "--augment", SAME},
	{"global_batch", "--global-batch", SAME},
	{"samples", "--samples", SAME},
	{"data", "--data", DIFFER_SILENTLY},
	{"schedule", "--schedule", DIFFER},
	{"schedule_steps", "steps in all (--epochs, --steps)", SAME_SCHEDULE},
	{"lr", "--lr", DIFFER},
	{"lr_min", "--lr-min", DIFFER},
	{"warmup", "--warmup", DIFFER},
	{"momentum", "--momentum or --beta1", DIFFER},
	{"beta2", "--beta2", DIFFER},
	{"eps", "--eps", DIFFER},
	{"weight_decay", "--weight-decay", DIFFER},
	{"clip_norm", "--clip-norm", DIFFER},
	{"nesterov", "--nesterov", DIFFER},
	{"precision", "--precision", DIFFER},
	{"image_size", "--image-size", SAME},
};

static void write_numbers(struct resume_facts *o, const struct training *t, int64_t steps)
{
	const struct settings *s = t->settings;
	const int64_t whole[] = {t->global_batch, t->train.samples, steps, t->spec->height};
	const double real[] = {s->lr,
			       s->lr_min,
			       s->warmup,
			       s->optimizer.momentum,
			       s->optimizer.beta2,
			       s->optimizer.eps,
			       s->optimizer.weight_decay,
			       s->clip_norm};
	enum { WHOLE = sizeof(whole) / sizeof(*whole) };

	for (int i = 0; i < RESUME_NUMBERS; i++)
		if (i < WHOLE)
			snprintf(o->numbers[i], sizeof(o->numbers[i]), "%" PRId64, whole[i]);
		else
			snprintf(o->numbers[i], sizeof(o->numbers[i]), "%.15g", real[i - WHOLE]);
}

void resume_facts_of(struct resume_facts *facts, const struct training *t, int64_t steps)
{
	static const char *const samplers[] = {"shuffled", "in-order", "random"};
	static const char *const tails[] = {"pad", "drop", "short"};
	static const char *const schedules[] = {"constant", "cosine", "one-cycle"};
	static const char *const precisions[] = {"fp32", "bf16", "fp16"};
	const struct settings *s = t->settings;
	char(*n)[32] = facts->numbers;
	const char *values[RESUME_TEXTS] = {
		s->model,
		optimizer_rows[s->optimizer.kind].word,
		samplers[s->sampler],
		tails[s->tail],
		s->drop_last ? "yes" : "no",
		s->augment ? "yes" : "no",
		n[0],
		n[1],
		s->data,
		schedules[s->schedule],
		n[2],
		n[4],
		n[5],
		n[6],
		n[7],
		n[8],
		n[9],
		n[10],
		n[11],
		s->optimizer.nesterov ? "yes" : "no",
		precisions[s->precision],
		n[3],
	};

	write_numbers(facts, t, steps);
	for (int i = 0; i < RESUME_TEXTS; i++)
		facts->texts[i] = (struct safetensors_text){table[i].key, values[i]};
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
static bool has_length(const struct training *t, const struct resume_facts *here,
		       const struct safetensors *file)
{
	const char *schedule = safetensors_text(file, "schedule");

	for (int i = 0; i < RESUME_TEXTS; i++)
		if (strcmp(table[i].key, "schedule") == 0)
			return t->settings->schedule != SCHEDULE_CONSTANT && schedule &&
			       strcmp(schedule, here->texts[i].value) == 0;
	return false;
}

static bool compare(const struct training *t, const struct resume_facts *here,
		    const struct safetensors *file, struct train_error *error)
{
	for (int i = 0; i < RESUME_TEXTS; i++) {
		const char *there = safetensors_text(file, table[i].key);
		const char *value = here->texts[i].value, *option = table[i].option;

		if (!there || strcmp(there, value) == 0)
			continue;
		if (strcmp(table[i].key, "samples") == 0)
			return other_size(t, file, there, value, error);
		if (table[i].may == SAME ||
		    (table[i].may == SAME_SCHEDULE && has_length(t, here, file)))
			return differs(file, option, there, value, error);
		if (table[i].may == DIFFER)
			fprintf(stderr,
				"gpumap-train: remark: %s: it was trained with %s %.40s, and goes "
				"on with %s\n",
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
