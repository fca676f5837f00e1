/* SPDX-License-Identifier: MIT */
/* Reads settings from their texts. */
#include "plan/plan.h"

#include <stdio.h>

#include "cpuset.h"

/* Where each key's value is kept: a word, a number, or a text. */
static const struct member {
	size_t at;
	enum { KEEP_NOTHING, KEEP_WORD, KEEP_NUMBER, KEEP_CPUS, KEEP_USE, KEEP_TEXT } keep;
} members[SETTING_END] = {
#define MEMBER(m) offsetof(struct plan_settings, m)
	[PKEY_PROFILE_gpus] = {MEMBER(gpus), KEEP_TEXT},
	[PKEY_PROFILE_order] = {MEMBER(order), KEEP_WORD},
	[PKEY_PROFILE_on_conflict] = {MEMBER(on_conflict), KEEP_WORD},
	[PKEY_PROFILE_lint] = {MEMBER(lint), KEEP_WORD},
	[PKEY_PROFILE_mode] = {MEMBER(mode), KEEP_WORD},
	[PKEY_PROFILE_world_size] = {MEMBER(world_size), KEEP_NUMBER},
	[PKEY_PROFILE_ranks] = {MEMBER(ranks), KEEP_NUMBER},
	[PKEY_PROFILE_ranks_per_gpu] = {MEMBER(ranks_per_gpu), KEEP_NUMBER},
	[PKEY_PROFILE_share] = {MEMBER(share), KEEP_WORD},
	[PKEY_PROFILE_ids] = {MEMBER(ids), KEEP_WORD},
	[PKEY_PROFILE_cpu_bind] = {MEMBER(cpu_bind), KEEP_CPUS},
	[PKEY_PROFILE_mem_bind] = {MEMBER(mem_bind), KEEP_WORD},
	[PKEY_PROFILE_threads] = {MEMBER(threads), KEEP_NUMBER},
	[PKEY_PROGRAM_device] = {MEMBER(device), KEEP_USE},
	[PKEY_PROGRAM_set_device] = {MEMBER(set_device), KEEP_USE},
	[PKEY_PROGRAM_device_ids] = {MEMBER(device_ids), KEEP_TEXT},
	[PKEY_PROGRAM_in_code] = {MEMBER(in_code), KEEP_TEXT},
	[PKEY_PROGRAM_script_inline] = {MEMBER(script_inline), KEEP_TEXT},
	[PKEY_PROGRAM_script_export] = {MEMBER(script_export), KEEP_TEXT},
	[PKEY_PROGRAM_prefix] = {MEMBER(prefix), KEEP_TEXT},
#undef MEMBER
};

bool plan_uses(enum profile_key_id key)
{
	return key < SETTING_END && members[key].keep != KEEP_NOTHING;
}

/* "auto" and "keep" are not numbers. */
static int number_of(enum profile_key_id key, const struct key_value *value)
{
	if (value->number >= 0)
		return (int)value->number;
	return key == PKEY_PROFILE_threads && value->word == PLAN_THREADS_KEEP ? PLAN_KEEP
									       : PLAN_AUTO;
}

static void set_cpu_bind(struct plan_settings *settings, const struct key_value *value)
{
	settings->cpu_bind = (enum plan_cpu_bind)value->word;
	if (value->word == PLAN_CPU_CORES)
		settings->cores = (int)value->number;
	else if (value->word == PLAN_CPU_LIST)
		settings->cpu_list = value->text.text;
}

static void set_value(struct plan_settings *settings, enum profile_key_id key, const char *text,
		      const struct key_value *value)
{
	const struct member *member = &members[key];
	char *at = (char *)settings + member->at;
	int number = member->keep == KEEP_WORD ? value->word : number_of(key, value);
	struct device_use use;

	if (member->keep == KEEP_CPUS) {
		set_cpu_bind(settings, value);
	} else if (member->keep == KEEP_TEXT) {
		text = *text ? text : NULL;
		memcpy(at, &text, sizeof(text));
	} else if (member->keep == KEEP_USE) {
		use = device_use(key, text);
		memcpy(at, &use, sizeof(use));
	} else {
		memcpy(at, &number, sizeof(number));
	}
}

static void set_default(struct plan_settings *settings, enum profile_key_id key)
{
	struct key_value value = key_value(key, "");

	set_value(settings, key, profile_key(key)->key.initial, &value);
}

struct plan_settings plan_settings_default(void)
{
	struct plan_settings settings = {0};

	for (enum profile_key_id key = SETTING_FIRST; key < SETTING_END; key++)
		if (plan_uses(key))
			set_default(&settings, key);
	return settings;
}

/* A plan's limits are lower than a profile's. */
static int check_limit(enum profile_key_id key, const char *text, const struct key_value *value,
		       struct plan_place place, gpumap_report *report)
{
	int64_t max = members[key].keep == KEEP_CPUS ? CPUSET_MAX_CPUS : PLAN_MAX_RANKS;
	char fix[48];

	if (value->number <= max)
		return GPUMAP_OK;
	snprintf(fix, sizeof(fix), "write a number up to %lld", (long long)max);
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = place.origin, .line = place.line, .column = place.column,
				 .fix = fix),
			   SETTING("%s") " cannot be '%s'", profile_key(key)->key.name,
			   QUOTE(span_of(text)));
}

int plan_set(struct plan_settings *settings, enum profile_key_id key, const char *text,
	     struct plan_place place, gpumap_report *report)
{
	const struct about about = {
		.origin = place.origin, .line = place.line, .column = place.column};
	struct key_value value;
	int r = profile_value_read(&value, profile_key(key), span_of(text), &about, report);

	if (r == GPUMAP_OK)
		r = check_limit(key, text, &value, place, report);
	if (r != GPUMAP_OK)
		return r;
	if (*text)
		set_value(settings, key, text, &value);
	else
		set_default(settings, key);
	settings->places[key] = place;
	return GPUMAP_OK;
}
