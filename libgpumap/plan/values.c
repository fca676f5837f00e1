/* SPDX-License-Identifier: MIT */
/* The values of a plan's settings, and their origins. */
#include "plan/job.h"

static const struct plan_setting *exception_of(const gpumap_plan *plan, size_t rank,
					       enum profile_key_id key)
{
	const struct job_exception *all = plan->exceptions;
	size_t count = plan->exception_count;

	for (size_t k = FIRST_PLACE(i, count, all[i].rank < rank); k < count && all[k].rank == rank;
	     k++)
		if (all[k].key == key)
			return &all[k].setting;
	return NULL;
}

const struct plan_setting *job_setting(const gpumap_plan *plan, enum profile_key_id key,
				       int64_t row)
{
	const struct plan_setting *other = row < 0 ? NULL : exception_of(plan, (size_t)row, key);

	return other ? other : SETTING_OF(&plan->settings, key);
}

EXPORT const char *gpumap_plan_setting(const gpumap_plan *plan, const char *key, int64_t rank)
{
	enum profile_key_id id = setting_key(span_of(key));

	return plan && id != PKEY_COUNT ? job_setting(plan, id, rank)->text : NULL;
}

const struct plan_setting *job_exception_of(const gpumap_plan *plan, enum profile_key_id key)
{
	for (size_t i = 0; i < plan->exception_count; i++)
		if (plan->exceptions[i].key == key)
			return &plan->exceptions[i].setting;
	return NULL;
}

bool job_all_have(const gpumap_plan *plan, enum profile_key_id key, int word)
{
	bool all = SETTING_OF(&plan->settings, key)->word == word;

	for (size_t i = 0; i < plan->exception_count; i++)
		all = all &&
		      (plan->exceptions[i].key != key || plan->exceptions[i].setting.word == word);
	return all;
}

int job_restarts(const gpumap_plan *plan)
{
	const struct plan_setting *on_fail = &plan->settings.on_fail;

	return on_fail->word == PLAN_ON_FAIL_RESTART && !plan->met ? (int)on_fail->number : 0;
}

static const char *origin_of(const void *data, struct span key)
{
	const gpumap_plan *plan = data;
	enum profile_key_id id = setting_key(key);

	return id == PKEY_COUNT ? NULL : SETTING_OF(&plan->settings, id)->origin;
}

struct speech job_speech(const gpumap_plan *plan)
{
	bool options = true;

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const char *origin = plan->settings.of[i].origin;

		options = options &&
			  (!origin || speech_of_command(origin) || speech_of_program(origin));
	}
	return (struct speech){origin_of, plan, options};
}
