/* SPDX-License-Identifier: MIT */
/* From a profile to everything that starting a plan's ranks needs. */
#include "plan/job.h"

#include "memory.h"
#include "profile/profile.h"

gpumap_plan *job_new(void)
{
	return xcalloc(1, sizeof(gpumap_plan));
}

EXPORT void gpumap_plan_free(gpumap_plan *plan)
{
	if (!plan)
		return;
	arena_free(&plan->arena);
	free(plan);
}

const struct plan_host *job_host(const gpumap_plan *plan, int64_t node)
{
	return node >= 0 && (size_t)node < plan->host_count ? &plan->hosts[node] : NULL;
}

int job_add_exception(gpumap_plan *plan, struct job_exception exception)
{
	struct job_exception *grown =
		arena_room(&plan->arena, plan->exceptions, plan->exception_count,
			   &plan->exception_room, sizeof(*grown));

	if (!grown)
		return GPUMAP_ENOMEM;
	plan->exceptions = grown;
	grown[plan->exception_count++] = exception;
	return GPUMAP_OK;
}

int job_arguments_of(gpumap_plan *plan, const gpumap_profile *profile)
{
	size_t count = gpumap_profile_argument_count(profile);

	plan->arguments = arena_alloc(&plan->arena, count + 1, sizeof(*plan->arguments));
	for (size_t i = 0; plan->arguments && i < count; i++)
		plan->arguments[i] =
			arena_strdup(&plan->arena, gpumap_profile_argument(profile, i));
	plan->argument_count = count;
	return plan->arena.failed ? GPUMAP_ENOMEM : GPUMAP_OK;
}

static void copy_variables(gpumap_plan *plan, const gpumap_profile *profile)
{
	size_t count = gpumap_profile_variable_count(profile);

	plan->variables = arena_alloc(&plan->arena, count + 1, sizeof(*plan->variables));
	for (size_t i = 0; plan->variables && i < count; i++) {
		const char *texts[3];
		static const enum gpumap_setting_attr attrs[3] = {
			GPUMAP_SETTING_NAME, GPUMAP_SETTING_VALUE, GPUMAP_SETTING_ORIGIN};

		for (size_t a = 0; a < 3; a++)
			texts[a] = arena_strdup(&plan->arena,
						gpumap_profile_variable(profile, i, attrs[a]));
		plan->variables[i] = (struct job_variable){texts[0], texts[1], texts[2]};
	}
	plan->variable_count = count;
}

static struct plan_setting copy_setting(struct arena *arena, enum profile_key_id key,
					const struct plan_setting *from)
{
	const char *text = arena_strdup(arena, from->text);
	struct plan_setting copy =
		plan_setting(key, text ? text : "", arena_strdup(arena, from->origin));

	copy.found = from->found;
	return copy;
}

int job_keep(gpumap_plan *plan, const gpumap_profile *profile, const struct plan_settings *settings,
	     gpumap_report *report)
{
	struct arena *arena = &plan->arena;

	plan->settings = *settings;
	EACH_PLAN_KEY (k)
		if (SETTING_OF(settings, k)->text != profile_key(k)->key.initial)
			*SETTING_OF(&plan->settings, k) =
				copy_setting(arena, k, SETTING_OF(settings, k));
	plan->profile = arena_strdup(arena, gpumap_profile_str(profile, GPUMAP_PROFILE_NAME));
	job_arguments_of(plan, profile);
	copy_variables(plan, profile);
	return arena->failed ? report_nomem(report) : GPUMAP_OK;
}

/* --- exceptions ------------------------------------------------------------------- */

static bool is_overridden(const gpumap_profile *profile, enum profile_key_id key)
{
	for (size_t i = 0; i < profile->section_count; i++)
		if (override_applies(profile, &profile->sections[i]) &&
		    section_setting(&profile->sections[i], key))
			return true;
	return false;
}

static int check_rank(gpumap_plan *plan, const gpumap_profile *profile, size_t rank,
		      enum profile_key_id key)
{
	struct job_rank at = {0};
	struct place place;
	const struct setting *from;
	struct plan_setting setting;

	job_rank_at(plan, (int64_t)rank, &at);
	place = (struct place){at.host, at.node, at.rank, at.local_rank};
	from = profile_decides(profile, key, &place);
	setting = plan_setting(key, from ? profile_value(profile, from) : "",
			       from ? setting_giver(from->origin) : NULL);
	if (streq(setting.text, SETTING_OF(&plan->settings, key)->text))
		return GPUMAP_OK;
	setting = copy_setting(&plan->arena, key, &setting);
	return job_add_exception(plan, (struct job_exception){rank, key, setting});
}

int job_exceptions(gpumap_plan *plan, const gpumap_profile *profile)
{
	enum profile_key_id keys[SETTING_COUNT];
	size_t count = 0;
	int r = GPUMAP_OK;

	for (enum profile_key_id k = SETTING_FIRST; k < SETTING_END; k++)
		if ((profile_key(k)->use & BY_RANK) && is_overridden(profile, k))
			keys[count++] = k;
	for (size_t rank = 0; count && rank < plan->world_size; rank++)
		for (size_t i = 0; i < count && r == GPUMAP_OK; i++)
			r = check_rank(plan, profile, rank, keys[i]);
	return plan->arena.failed ? GPUMAP_ENOMEM : r;
}
