/* SPDX-License-Identifier: MIT */
/* Computes what follows from all settings together: values with their variables, the
 * arguments (command_words.c), and the environment of the ranks (env_section.c). */
#include "profile/profile.h"

static void settle_one(const gpumap_profile *p, struct settled *s, size_t i, bool macros)
{
	const struct setting *setting = &p->settings[i];

	if (setting->text && (!setting->key || setting->key->kind != VALUE_COMMAND))
		s->values[i] = profile_expanded(p, &s->arena, setting->text, macros,
						setting->key && value_is_list(setting->key->kind));
}

static void settle_values(const gpumap_profile *p, struct settled *s)
{
	s->values = arena_alloc(&s->arena, p->setting_count, sizeof(*s->values));
	if (!s->values)
		return;
	for (size_t i = 0; i < IN_FILES; i++)
		if (p->settings[i].key)
			settle_one(p, s, i, value_has_macros(p->settings[i].key->kind));
	for (size_t i = 0; i < p->section_count; i++) {
		const gpumap_section *section = &p->sections[i];

		for (size_t k = section->first; k < section->first + section->count; k++) {
			const struct profile_key *key = p->settings[k].key;

			if (key || section->kind != SECTION_SWEEP)
				settle_one(p, s, k,
					   key ? value_has_macros(key->kind)
					       : section->kind == SECTION_ENV);
		}
	}
}

/* --- all of them ---------------------------------------------------------------------- */

int profile_settle(gpumap_profile *profile, gpumap_report *report)
{
	struct settled before = profile->settled, now = {.values = NULL};
	int r = GPUMAP_OK;

	settle_values(profile, &now);
	/* The command belongs to a program whose name may have a variable. */
	profile->settled = now;
	if (!now.arena.failed)
		r = override_settle(profile, &profile->settled, report);
	if (r == GPUMAP_OK && !profile->settled.arena.failed)
		command_settle(profile, &profile->settled);
	if (r == GPUMAP_OK && !profile->settled.arena.failed)
		env_settle(profile, &profile->settled);
	if (r == GPUMAP_OK && profile->settled.arena.failed)
		r = report_nomem(report);
	if (r != GPUMAP_OK) {
		arena_free(&profile->settled.arena);
		profile->settled = before;
		return r;
	}
	arena_free(&before.arena);
	return GPUMAP_OK;
}

int profile_set_python(gpumap_profile *profile, const char *python, gpumap_report *report)
{
	profile->python = python;
	return profile_settle(profile, report);
}

EXPORT size_t gpumap_profile_argument_count(const gpumap_profile *profile)
{
	return profile ? profile->settled.argument_count : 0;
}

EXPORT const char *gpumap_profile_argument(const gpumap_profile *profile, size_t i)
{
	return i < gpumap_profile_argument_count(profile) ? profile->settled.arguments[i] : NULL;
}
