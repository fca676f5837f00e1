/* SPDX-License-Identifier: MIT */
/* Computes what follows from all settings together: values with their variables, the
 * arguments, and the environment of the ranks. */
#include "profile/profile.h"

#include "text/inifile.h"

static const char *in_environment(const gpumap_profile *p, struct span name)
{
	for (const char *const *e = p->environment; e && *e; e++)
		if (strncmp(*e, name.text, name.length) == 0 && (*e)[name.length] == '=')
			return *e + name.length + 1;
	return NULL;
}

const char *profile_variable(const void *data, struct span name)
{
	const gpumap_profile *p = data;
	const gpumap_section *sweep = p->sweep == NONE ? NULL : &p->sections[p->sweep];

	for (size_t i = 0; sweep && i < sweep->variable_count; i++)
		if (span_is(name, sweep->variables[i].setting->name))
			return sweep_value(sweep, p->combination, i);
	return in_environment(p, name);
}

/* The text with its variables expanded, in the arena; unchanged if one is not set. */
static const char *expanded(const gpumap_profile *p, struct arena *arena, const char *text,
			    bool macros, bool list)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	struct strbuf folded = {0};
	struct expand_error error;

	if (!expand_has_variable(span_of(text)))
		return text;
	if (!expand_variables(&buf, span_of(text), macros, profile_variable, p, &error)) {
		arena->failed = arena->failed || buf.failed;
		return text;
	}
	if (!list)
		return strbuf_keep(&buf, arena);
	inifile_fold(&folded, (struct span){buf.text ? buf.text : "", buf.length});
	arena->failed = arena->failed || buf.failed;
	return strbuf_keep(&folded, arena);
}

static void settle_one(const gpumap_profile *p, struct settled *s, size_t i, bool macros)
{
	const struct setting *setting = &p->settings[i];

	if (setting->text && (!setting->key || setting->key->kind != VALUE_COMMAND))
		s->values[i] = expanded(p, &s->arena, setting->text, macros,
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

static void expand_arguments(const gpumap_profile *p, struct settled *s, size_t count)
{
	for (size_t i = 0; i < count && !s->arena.failed; i++)
		s->arguments[i] = expanded(p, &s->arena, s->arguments[i], true, false);
}

static void settle_arguments(const gpumap_profile *p, struct settled *s)
{
	const struct setting *setting = profile_decides(p, PKEY_PROGRAM_command, NO_PLACE);

	command_split(s, span_of(setting ? setting->text : ""));
	expand_arguments(p, s, s->argument_count);
	if (!s->arena.failed)
		expand_arguments(p, s, command_put_python(s, p->python));
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
		settle_arguments(profile, &profile->settled);
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
