/* SPDX-License-Identifier: MIT */
/* See settle.h. */
#include "settings/settle.h"

#include <string.h>

#include "settings/output_files.h"
#include "suggest.h"
#include "text.h"

/* The text of a row, given or by default; NULL: none. */
static const char *text_of(const struct arguments_raw *raw, enum row_id row)
{
	if (raw->rows[row].text)
		return raw->rows[row].text;
	return row == ROW_model && raw->rows[ROW_burn].text ? settings_burned_model
							    : rows[row].initial;
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
	return settings_settle_burn(raw, s, error) && settle_batch(raw, s, error) &&
	       settle_optimizer(raw, s, error) && targets_differ(raw, s, error);
}

bool settings_fit_world(const struct settings *s, int rank, int world, const char *launcher,
			struct train_error *error)
{
	return s->mode >= MODE_DDP ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "mode %s is one process, but this is rank %d of %d (%s); write --mode "
			  "ddp or --mode mp, or start it without a launcher",
			  s->mode == MODE_DP ? "dp" : "single", rank, world, launcher);
}
