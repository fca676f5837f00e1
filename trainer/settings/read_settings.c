/* SPDX-License-Identifier: MIT */
/* See settings.h. */
#include "settings/settings.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "settings/print_findings.h"
#include "settings/arguments_raw.h"
#include "settings/settle.h"
#include "base/simd.h"
#include "suggest.h"
#include "text.h"

static const char *key_value(const struct arguments_raw *raw, const char *key,
			     const char *const *envp)
{
	for (int i = 0; i < raw->keys_count; i++)
		if (strcmp(raw->keys[i].name, key) == 0)
			return raw->keys[i].text ? raw->keys[i].text
						 : environ_nonempty(envp, raw->keys[i].environment);
	return NULL;
}

/* The trainer's own statements: its mode and batch, and for dp that the current device is the first
 * of device_ids, where DataParallel needs the module (rule G2). */
static int state_own(const struct arguments_raw *raw, const struct command_line *command,
		     const char *const *envp)
{
	static const char *const modes[] = {"single", "dp", "ddp", "mp"};
	const struct settings *s = &command->settings;
	const char *ids = key_value(raw, "device_ids", envp);
	char text[64];
	int code = gpumap_request_set(raw->request, "mode", modes[s->mode],
				      raw_origin(raw, ROW_mode), raw->report);

	if (code == GPUMAP_OK && s->mode == MODE_DP && s->global_batch) {
		snprintf(text, sizeof(text), "%lld", (long long)(s->global_batch / s->accumulate));
		code = gpumap_request_set(raw->request, "batch", text,
					  raw_origin(raw, ROW_global_batch), raw->report);
	}
	if (code == GPUMAP_OK && s->mode == MODE_DP && ids && !key_value(raw, "device", envp) &&
	    !key_value(raw, "set_device", envp)) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(ids, ","), ids);
		code = gpumap_request_set(raw->request, "set_device", text, "--device-ids",
					  raw->report);
	}
	return code == GPUMAP_OK ? gpumap_request_set_environ(raw->request, envp, raw->report)
				 : code;
}

/* GPUMAP_MODE wins over a section; an option wins over GPUMAP_MODE (rule S6). */
static void take_mode(struct arguments_raw *raw, const char *const *envp)
{
	const char *mode = environ_nonempty(envp, "GPUMAP_MODE");

	if (!mode || raw->rows[ROW_mode].option)
		return;
	raw->rows[ROW_mode].text = mode;
	raw->rows[ROW_mode].origin = "GPUMAP_MODE";
}

/* The loops read this variable themselves, without settings. */
static bool check_isa(const char *const *envp, struct train_error *error)
{
	const char *isa = environ_nonempty(envp, SIMD_VARIABLE);

	return !isa || word_place(SIMD_WORDS, span_of(isa)) >= 0 ||
	       row_not_a_word(SIMD_WORDS, isa, SIMD_VARIABLE, error);
}

static bool read_all(struct arguments_raw *raw, struct command_line *command, int argc, char **argv,
		     gpumap_profile **profile, struct train_error *error)
{
	const char *const *envp = command->envp;
	int code;

	if (!raw_read_arguments(raw, argc, argv, error))
		return false;
	command->asked = raw->help || raw->version;
	if (command->asked)
		return raw->help ? settings_print_help(raw, error) : settings_print_version(error);
	if (!raw_read_section(raw, profile, envp, error))
		return false;
	take_mode(raw, envp);
	if (!raw->inventory)
		raw->inventory = environ_nonempty(envp, "GPUMAP_INVENTORY");
	if (!check_isa(envp, error) || !settings_settle(raw, &command->settings, error))
		return false;
	code = state_own(raw, command, envp);
	if (code != GPUMAP_OK)
		return findings_fail(raw->report, code, error);
	command->device_ids = key_value(raw, "device_ids", envp);
	command->device = key_value(raw, "device", envp) || key_value(raw, "set_device", envp);
	command->inventory = raw->inventory;
	/* All ranks would print the same remarks, so only the first does. */
	if (gpumap_request_identity_int(raw->request, GPUMAP_IDENTITY_RANK) <= 0)
		findings_print(raw->report, NULL);
	return true;
}

bool settings_read(struct command_line *ret, int argc, char **argv, const char *const *envp,
		   struct train_error *error)
{
	struct command_line command = {.envp = envp};
	gpumap_profile *profile = NULL;
	FINDINGS *report = findings_new();
	struct arguments_raw raw;
	bool good;

	if (gpumap_request_new(&command.request) != GPUMAP_OK)
		memory_ran_out();
	good = raw_begin(&raw, command.request, report, error) &&
	       read_all(&raw, &command, argc, argv, &profile, error);
	/* The reason why ./gpumap.ini was not read may explain the missing section. */
	if (!good)
		findings_print(report, NULL);
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
