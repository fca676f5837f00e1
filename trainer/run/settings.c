/* SPDX-License-Identifier: MIT */
#include "run/settings.h"

#include <stdio.h>
#include <string.h>

#include "run/findings.h"
#include "run/targets.h"
#include "run/told.h"
#include "simd.h"

/* What a row comes to: what was said of it, or its default; NULL: nothing. */
static const char *text_of(const struct told *told, enum row_id row)
{
	return told->rows[row].text ? told->rows[row].text : rows[row].initial;
}

/* Has the row a meaning beside the others? */
static bool meant(const struct told *told, const struct row *row)
{
	const char *equals = row->only ? strchr(row->only, '=') : NULL;
	size_t length = row->only ? strcspn(row->only, "=") : 0;

	for (int i = 0; i < ROWS && row->only; i++) {
		if (strlen(rows[i].name) != length || strncmp(rows[i].name, row->only, length) != 0)
			continue;
		return equals ? row_word(equals + 1, text_of(told, (enum row_id)i)) >= 0
			      : told->rows[i].text != NULL;
	}
	return true;
}

static bool not_meant(const struct told *told, const struct row *row, struct train_error *error)
{
	char option[ROW_ONLY_TEXT];

	return train_fail(error, TRAIN_BAD_INPUT, "%s has no meaning without %s",
			  told->rows[row - rows].origin, row_only(option, row));
}

static bool read_rows(const struct told *told, struct settings *settings, struct train_error *error)
{
	struct settings unused;

	for (int i = 0; i < ROWS; i++) {
		const char *text = told->rows[i].text;
		bool used = meant(told, &rows[i]);

		if (!used && told->rows[i].option)
			return not_meant(told, &rows[i], error);
		if (text && !row_read(&rows[i], used ? settings : &unused, text,
				      told->rows[i].origin, error))
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

const char *told_origin(const struct told *told, enum row_id row)
{
	return told->rows[row].origin ? told->rows[row].origin : rows[row].option;
}

enum { DEFAULT_BATCH = 128 };

/* An option wins over the section's other key; two of one place exclude each other. */
static bool settle_batch(const struct told *told, struct settings *s, struct train_error *error)
{
	bool whole = told->rows[ROW_global_batch].option;
	bool each = told->rows[ROW_batch_per_device].option;

	if (s->global_batch && s->batch_per_device && whole == each)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s and %.200s exclude each other; leave one of them out",
				  told_origin(told, ROW_global_batch),
				  told_origin(told, ROW_batch_per_device));
	if (s->batch_per_device && whole)
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
				  told_origin(told, ROW_accumulate), (long long)s->global_batch,
				  (long long)s->accumulate, (long long)s->global_batch);
	return true;
}

static bool settle_optimizer(const struct told *told, struct settings *s, struct train_error *error)
{
	if (s->optimizer.nesterov && !(s->optimizer.momentum > 0))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s needs a momentum above 0; write --momentum 0.9",
				  told_origin(told, ROW_nesterov));
	if (s->schedule == SCHEDULE_COSINE && s->lr_min > s->lr)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: %g is above the learning rate %g; write at most that",
				  told_origin(told, ROW_lr_min), s->lr_min, s->lr);
	return true;
}

static bool settle(const struct told *told, struct settings *s, struct train_error *error)
{
	const char *kind = text_of(told, ROW_optimizer);

	memset(s, 0, sizeof(*s));
	if (!read_defaults(s, error) ||
	    !row_read(&rows[ROW_optimizer], s, kind, told_origin(told, ROW_optimizer), error))
		return false;
	s->optimizer = optimizer_default(s->optimizer.kind);
	s->lr = s->optimizer.kind == OPTIMIZER_SGD ? 0.01 : 0.001;
	if (!read_rows(told, s, error))
		return false;
	if (s->steps && !told->rows[ROW_epochs].text)
		s->epochs = 0;
	return settle_batch(told, s, error) && settle_optimizer(told, s, error) &&
	       targets_differ(told, s, error);
}

static const char *said(const struct told *told, const char *key, const char *const *envp)
{
	for (int i = 0; i < told->keys_count; i++)
		if (strcmp(told->keys[i].name, key) == 0)
			return told->keys[i].text ? told->keys[i].text
						  : told_variable(envp, told->keys[i].environment);
	return NULL;
}

/* What the trainer itself states: its mode and batch, and that in dp its current device is the
 * first of device_ids, where DataParallel wants the module (rule G2). */
static int state_own(const struct told *told, const struct command_line *command,
		     const char *const *envp)
{
	static const char *const modes[] = {"single", "dp", "ddp", "mp"};
	const struct settings *s = &command->settings;
	const char *ids = said(told, "device_ids", envp);
	char text[64];
	int code = gpumap_request_set(told->request, "mode", modes[s->mode],
				      told_origin(told, ROW_mode), told->report);

	if (code == GPUMAP_OK && s->mode == MODE_DP && s->global_batch) {
		snprintf(text, sizeof(text), "%lld", (long long)(s->global_batch / s->accumulate));
		code = gpumap_request_set(told->request, "batch", text,
					  told_origin(told, ROW_global_batch), told->report);
	}
	if (code == GPUMAP_OK && s->mode == MODE_DP && ids && !said(told, "device", envp) &&
	    !said(told, "set_device", envp)) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(ids, ","), ids);
		code = gpumap_request_set(told->request, "set_device", text, "--device-ids",
					  told->report);
	}
	return code == GPUMAP_OK ? gpumap_request_environ(told->request, envp, told->report) : code;
}

/* GPUMAP_MODE is stronger than a section and weaker than an option (rule S6). */
static void take_mode(struct told *told, const char *const *envp)
{
	const char *mode = told_variable(envp, "GPUMAP_MODE");

	if (!mode || told->rows[ROW_mode].option)
		return;
	told->rows[ROW_mode].text = mode;
	told->rows[ROW_mode].origin = "GPUMAP_MODE";
}

/* What the loops read for themselves, since they have no settings. */
static bool check_isa(const char *const *envp, struct train_error *error)
{
	const char *isa = told_variable(envp, SIMD_VARIABLE);

	return !isa || row_word(SIMD_WORDS, isa) >= 0 ||
	       row_not_a_word(SIMD_WORDS, isa, SIMD_VARIABLE, error);
}

static bool read_all(struct told *told, struct command_line *command, int argc, char **argv,
		     gpumap_profile **profile, struct train_error *error)
{
	const char *const *envp = command->envp;
	int code;

	if (!told_arguments(told, argc, argv, error))
		return false;
	command->asked = told->help || told->version;
	if (command->asked)
		return told->help ? told_help(told, error) : told_version(error);
	if (!told_section(told, profile, envp, error))
		return false;
	take_mode(told, envp);
	if (!check_isa(envp, error) || !settle(told, &command->settings, error))
		return false;
	code = state_own(told, command, envp);
	if (code != GPUMAP_OK)
		return findings_fail(told->report, code, error);
	command->device_ids = said(told, "device_ids", envp);
	command->device = said(told, "device", envp) || said(told, "set_device", envp);
	command->inventory =
		told->inventory ? told->inventory : told_variable(envp, "GPUMAP_INVENTORY");
	/* Ranks say the same: the first one is enough. */
	if (gpumap_identity_int(told->request, GPUMAP_IDENTITY_RANK) <= 0)
		findings_print(told->report, NULL);
	return true;
}

bool settings_read(struct command_line *ret, int argc, char **argv, const char *const *envp,
		   struct train_error *error)
{
	struct command_line command = {.envp = envp};
	gpumap_profile *profile = NULL;
	gpumap_report *report = NULL;
	struct told told;
	bool good;

	if (gpumap_request_new(&command.request) != GPUMAP_OK)
		return train_nomem(error, "the settings");
	good = gpumap_report_new(&report) == GPUMAP_OK || train_nomem(error, "the settings");
	good = good && told_begin(&told, command.request, report, error) &&
	       read_all(&told, &command, argc, argv, &profile, error);
	gpumap_report_free(report);
	command.memory = profile;
	if (good)
		*ret = command;
	else
		settings_free(&command);
	return good;
}

void settings_free(struct command_line *command)
{
	gpumap_request_free(command->request);
	gpumap_profile_free(command->memory);
	*command = (struct command_line){.request = NULL};
}
