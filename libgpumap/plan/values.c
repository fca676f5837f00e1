/* SPDX-License-Identifier: MIT */
/* The values of a plan's settings, and their origins. */
#include "plan/job.h"

const char *job_setting(const gpumap_plan *plan, const char *key)
{
	for (size_t i = 0; i < plan->setting_count; i++)
		if (streq(plan->settings[i].key, key))
			return plan->settings[i].value;
	return "";
}

static const struct job_exception *exception_of(const gpumap_plan *plan, size_t rank,
						size_t setting)
{
	const struct job_exception *all = plan->exceptions;
	size_t count = plan->exception_count;

	for (size_t k = FIRST_PLACE(i, count, all[i].rank < rank); k < count && all[k].rank == rank;
	     k++)
		if (all[k].setting == setting)
			return &all[k];
	return NULL;
}

EXPORT const char *gpumap_plan_setting(const gpumap_plan *plan, const char *key, int64_t rank)
{
	const struct job_exception *exception;

	for (size_t i = 0; plan && i < plan->setting_count; i++) {
		if (!streq(plan->settings[i].key, key))
			continue;
		exception = rank < 0 ? NULL : exception_of(plan, (size_t)rank, i);
		return exception ? exception->value : plan->settings[i].value;
	}
	return NULL;
}

struct key_value job_value(const gpumap_plan *plan, enum profile_key_id id, int64_t row)
{
	const char *value = gpumap_plan_setting(plan, profile_key(id)->key.name, row);

	return key_value(id, value ? value : "");
}

const char *job_exception_value(const gpumap_plan *plan, const char *key)
{
	for (size_t i = 0; i < plan->exception_count; i++)
		if (streq(plan->settings[plan->exceptions[i].setting].key, key))
			return plan->exceptions[i].value;
	return NULL;
}

bool job_is_uniform(const gpumap_plan *plan)
{
	return !plan->exception_count;
}

bool job_all_have(const gpumap_plan *plan, enum profile_key_id id, int word)
{
	const char *key = profile_key(id)->key.name;
	bool all = job_value(plan, id, -1).word == word;

	for (size_t i = 0; i < plan->exception_count; i++) {
		const struct job_exception *e = &plan->exceptions[i];

		all = all && (!streq(plan->settings[e->setting].key, key) ||
			      key_value(id, e->value).word == word);
	}
	return all;
}

const char *const *job_program(const gpumap_plan *plan, size_t *count)
{
	*count = plan->argument_count;
	return (const char *const *)plan->arguments;
}

int job_restarts(const gpumap_plan *plan)
{
	struct key_value value = job_value(plan, PKEY_PROFILE_on_fail, -1);

	return value.word == PLAN_ON_FAIL_RESTART && !plan->met ? (int)value.number : 0;
}

static const char *origin_of(const void *data, struct span key)
{
	const gpumap_plan *plan = data;

	for (size_t i = 0; i < plan->setting_count; i++)
		if (span_is(key, plan->settings[i].key))
			return streq(plan->settings[i].origin, "default")
				       ? NULL
				       : plan->settings[i].origin;
	return NULL;
}

const char *job_origin(const gpumap_plan *plan, const char *key)
{
	return origin_of(plan, span_of(key));
}

struct speech job_speech(const gpumap_plan *plan)
{
	bool options = true;

	for (size_t i = 0; i < plan->setting_count; i++) {
		const char *origin = plan->settings[i].origin;

		options = options && (streq(origin, "default") || speech_of_command(origin) ||
				      speech_of_program(origin));
	}
	return (struct speech){origin_of, plan, options};
}
