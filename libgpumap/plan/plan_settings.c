/* SPDX-License-Identifier: MIT */
/* Reads settings from their texts. */
#include "plan/plan.h"

#include <stdio.h>

#include "cpuset.h"

bool plan_uses(enum profile_key_id key)
{
	static const bool uses[SETTING_END] = {
		[PKEY_PROFILE_gpus] = true,          [PKEY_PROFILE_order] = true,
		[PKEY_PROFILE_on_conflict] = true,   [PKEY_PROFILE_lint] = true,
		[PKEY_PROFILE_mode] = true,          [PKEY_PROFILE_world_size] = true,
		[PKEY_PROFILE_ranks] = true,         [PKEY_PROFILE_ranks_per_gpu] = true,
		[PKEY_PROFILE_share] = true,         [PKEY_PROFILE_ids] = true,
		[PKEY_PROFILE_cpu_bind] = true,      [PKEY_PROFILE_mem_bind] = true,
		[PKEY_PROFILE_threads] = true,       [PKEY_PROGRAM_device] = true,
		[PKEY_PROGRAM_set_device] = true,    [PKEY_PROGRAM_device_ids] = true,
		[PKEY_PROGRAM_in_code] = true,       [PKEY_PROGRAM_script_inline] = true,
		[PKEY_PROGRAM_script_export] = true, [PKEY_PROGRAM_prefix] = true,
	};

	return key < SETTING_END && uses[key];
}

struct plan_setting plan_setting(enum profile_key_id key, const char *text, const char *origin)
{
	const char *value = *text ? text : profile_key(key)->key.initial;
	const struct key_value read = key_value(key, value);

	return (struct plan_setting){
		.text = value,
		.word = read.word,
		.number = read.number,
		.part = read.text,
		.use = key == PKEY_PROGRAM_device || key == PKEY_PROGRAM_set_device
			       ? device_use(key, value)
			       : (struct device_use){.kind = USE_NOTHING},
		.origin = origin,
	};
}

const char *setting_origin(const struct plan_setting *setting)
{
	return setting->origin ? setting->origin : "default";
}

const char *setting_giver(const char *origin)
{
	return origin && streq(origin, "default") ? NULL : origin;
}

bool setting_is_default(enum profile_key_id key, const struct plan_setting *setting)
{
	return streq(setting->text, profile_key(key)->key.initial);
}

struct plan_settings plan_settings_default(void)
{
	struct plan_settings settings = {0};

	EACH_PLAN_KEY (key)
		*SETTING_OF(&settings, key) = plan_setting(key, "", NULL);
	return settings;
}

/* A plan's limits are lower than a profile's. */
static int check_limit(enum profile_key_id key, const char *text, int64_t number,
		       struct plan_place place, gpumap_report *report)
{
	int64_t max = key == PKEY_PROFILE_cpu_bind ? CPUSET_MAX_CPUS : PLAN_MAX_RANKS;

	if (number <= max)
		return GPUMAP_OK;
	return report_fail(
		report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
		ABOUT_PLACE(&place, .fix = FORMAT("write a number up to %lld", (long long)max)),
		SETTING("%s") " cannot be '%s'", profile_key(key)->key.name, QUOTE(span_of(text)));
}

int plan_set(struct plan_settings *settings, enum profile_key_id key, const char *text,
	     struct plan_place place, gpumap_report *report)
{
	struct key_value value;
	int r = profile_value_read(&value, profile_key(key), span_of(text),
				   ABOUT_PLACE(&place, .fix = NULL), report);

	if (r == GPUMAP_OK)
		r = check_limit(key, text, value.number, place, report);
	if (r != GPUMAP_OK)
		return r;
	*SETTING_OF(settings, key) = plan_setting(key, text, place.origin);
	SETTING_OF(settings, key)->place = place;
	return GPUMAP_OK;
}
