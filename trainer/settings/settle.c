/* SPDX-License-Identifier: MIT */
/* See settle.h. */
#include "settings/settle.h"

#include <string.h>

#include "backend/names.h"
#include "settings/output_files.h"
#include "suggest.h"
#include "text.h"

static const char burned_model[] = "resnet50";

/* The text of a row, given or by default; NULL: none. */
static const char *text_of(const struct arguments_raw *raw, enum row_id row)
{
	if (raw->rows[row].text)
		return raw->rows[row].text;
	return row == ROW_model && raw->rows[ROW_burn].text ? burned_model : rows[row].initial;
}

/* Whether the row applies with the other settings. */
static bool meant(const struct arguments_raw *raw, const struct row *row)
{
	const char *equals = row->only ? strchr(row->only, '=') : NULL;
	size_t length = row->only ? strcspn(row->only, "=") : 0;

	for (int i = 0; i < ROWS && row->only; i++) {
		if (strlen(rows[i].name) != length || strncmp(rows[i].name, row->only, length) != 0)
			continue;
		return equals ? word_place(equals + 1, span_of(text_of(raw, (enum row_id)i))) >= 0
			      : raw->rows[i].text != NULL;
	}
	return true;
}

static bool not_meant(const struct arguments_raw *raw, const struct row *row,
		      struct train_error *error)
{
	char option[ROW_ONLY_TEXT];

	return train_fail(error, TRAIN_BAD_INPUT, "%s has no effect without %s",
			  raw->rows[row - rows].origin, row_only(option, row));
}

static bool read_rows(const struct arguments_raw *raw, struct settings *settings,
		      struct train_error *error)
{
	struct settings unused;

	for (int i = 0; i < ROWS; i++) {
		const char *text = raw->rows[i].text;
		bool used = meant(raw, &rows[i]);

		if (!used && raw->rows[i].option)
			return not_meant(raw, &rows[i], error);
		if (text && !row_read(&rows[i], used ? settings : &unused, text,
				      raw->rows[i].origin, error))
			return false;
	}
	return true;
}

static bool read_defaults(struct settings *settings, struct train_error *error)
{
	for (int i = 0; i < ROWS; i++)
		if (rows[i].initial &&
		    !row_read(&rows[i], settings, rows[i].initial, rows[i].option, error))
			return false;
	return true;
}

enum { DEFAULT_BATCH = 128 };

/* An option wins over the section's other key; two options, or two keys, exclude each other. */
static bool settle_batch(const struct arguments_raw *raw, struct settings *s,
			 struct train_error *error)
{
	bool global = raw->rows[ROW_global_batch].option;
	bool each = raw->rows[ROW_batch_per_device].option;

	if (s->global_batch && s->batch_per_device && global == each)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s and %.200s exclude each other; leave one of them out",
				  raw_origin(raw, ROW_global_batch),
				  raw_origin(raw, ROW_batch_per_device));
	if (s->batch_per_device && global)
		s->batch_per_device = 0;
	if (s->global_batch && each)
		s->global_batch = 0;
	s->batch_default = !s->global_batch && !s->batch_per_device;
	if (s->batch_default)
		s->global_batch = s->accumulate > DEFAULT_BATCH ? s->accumulate : DEFAULT_BATCH;
	if (s->global_batch && s->accumulate > s->global_batch)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: %lld samples cannot be divided into %lld passes; write "
				  "at most %lld",
				  raw_origin(raw, ROW_accumulate), (long long)s->global_batch,
				  (long long)s->accumulate, (long long)s->global_batch);
	return true;
}

static bool settle_optimizer(const struct arguments_raw *raw, struct settings *s,
			     struct train_error *error)
{
	if (s->optimizer.nesterov && !(s->optimizer.momentum > 0))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s needs a momentum above 0; write --momentum 0.9",
				  raw_origin(raw, ROW_nesterov));
	if (s->schedule == SCHEDULE_COSINE && s->lr_min > s->lr)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: %g is above the learning rate %g; write at most that",
				  raw_origin(raw, ROW_lr_min), s->lr_min, s->lr);
	return true;
}

/* The most steps that --steps takes. */
static const int64_t endless = 1000000000000;

/* A burn test tests GPUs, unless simulated ones are named. If it fell back to the CPU, a machine
 * whose GPUs are gone would pass. */
static bool choose_burned(const struct arguments_raw *raw, struct settings *s,
			  struct train_error *error)
{
	const char *machine = raw->inventory;

	if (strcmp(s->backend, "auto") != 0 || (machine && strcmp(machine, "host") != 0))
		return true;
	if (!backend_exists("cuda"))
		return train_fail(error, TRAIN_NO_BACKEND,
				  "%.200s: this build has no CUDA, which a test of GPUs needs; "
				  "build with CUDA and cuDNN, or simulate four GPUs: --inventory 4",
				  raw_origin(raw, ROW_burn));
	s->backend = "cuda";
	return true;
}

/* The work of a burn test, if nothing else is wanted. On a CPU a larger batch needs much memory,
 * and checks would be rare. */
static void choose_burn(const struct arguments_raw *raw, struct settings *s)
{
	if (!raw->rows[ROW_mode].text)
		s->mode = MODE_DDP;
	s->test_samples = 1;
	if (raw->rows[ROW_model].text)
		return;
	s->model = burned_model;
	if (!raw->rows[ROW_image_size].text)
		s->image_size = 224;
	if (!raw->rows[ROW_samples].text)
		s->samples = 512;
	if (!s->global_batch && !s->batch_per_device)
		s->batch_per_device = backend_simulates(s->backend) ? 4 : 32;
}

/* A burn test ends by its time. Its weights never change, so that all bits must come again. */
static bool settle_burn(const struct arguments_raw *raw, struct settings *s,
			struct train_error *error)
{
	static const enum row_id without[] = {
		ROW_augment,      ROW_epochs,         ROW_steps,         ROW_lr,
		ROW_weight_decay, ROW_schedule,       ROW_checkpoint,    ROW_plot,
		ROW_test_samples, ROW_evaluate_every, ROW_profile_steps, ROW_verify_mapping,
	};

	if (!raw->rows[ROW_burn].text)
		return true;
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (raw->rows[without[i]].option)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s has no effect with --burn; leave it out",
					  raw->rows[without[i]].origin);
	if (s->mode == MODE_MP)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: --burn compares whole models on each device; write "
				  "--mode ddp, dp or single",
				  raw_origin(raw, ROW_mode));
	if (!choose_burned(raw, s, error))
		return false;
	choose_burn(raw, s);
	s->checkpoint = s->plot = NULL;
	s->deterministic = true;
	s->augment = s->verify_mapping = false;
	s->lr = s->lr_min = s->optimizer.weight_decay = 0;
	s->schedule = SCHEDULE_CONSTANT;
	s->epochs = s->evaluate_every = s->profile_steps = 0;
	s->steps = endless;
	return true;
}

/* 10000 images of 224 x 224 would take 1.5 GB in each process. */
static void choose_samples(const struct arguments_raw *raw, struct settings *s)
{
	bool large = s->image_size >= 64;

	if (large && !raw->rows[ROW_samples].text)
		s->samples = 1000;
	if (raw->rows[ROW_test_samples].text)
		return;
	if (large)
		s->test_samples = 200;
	if (s->evaluate_every == 0)
		s->test_samples = 1;
}

bool settings_settle(const struct arguments_raw *raw, struct settings *s, struct train_error *error)
{
	const char *kind = text_of(raw, ROW_optimizer);

	memset(s, 0, sizeof(*s));
	if (!read_defaults(s, error) ||
	    !row_read(&rows[ROW_optimizer], s, kind, raw_origin(raw, ROW_optimizer), error))
		return false;
	s->lr = optimizer_rows[s->optimizer.kind].lr;
	s->optimizer = optimizer_rows[s->optimizer.kind].initial;
	if (!read_rows(raw, s, error))
		return false;
	if (s->steps && !raw->rows[ROW_epochs].text)
		s->epochs = 0;
	choose_samples(raw, s);
	return settle_burn(raw, s, error) && settle_batch(raw, s, error) &&
	       settle_optimizer(raw, s, error) && targets_differ(raw, s, error);
}
