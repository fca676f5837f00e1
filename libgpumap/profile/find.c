/* SPDX-License-Identifier: MIT */
/* Finds sections by their names, and settings in them. */
#include "profile/profile.h"

#include <stdio.h>

#include "suggest.h"

size_t profile_find(const gpumap_profile *profile, enum profile_section kind, struct span name)
{
	for (size_t i = 0; i < profile->section_count; i++)
		if (profile->sections[i].kind == kind && span_is(name, profile->sections[i].name))
			return i;
	return NONE;
}

const char *profile_nearest(const gpumap_profile *profile, enum profile_section kind,
			    struct span name)
{
	const char *near = NULL;

	for (size_t i = 0; i < profile->section_count; i++) {
		const char *names[] = {profile->sections[i].name, near, NULL};

		if (profile->sections[i].kind == kind && name.length > 2 && suggest(name, names))
			near = suggest(name, names);
	}
	return near;
}

const char *profile_suggest(const gpumap_profile *profile, enum profile_section kind,
			    struct span name, char fix[160])
{
	const char *near = profile_nearest(profile, kind, name);
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", (int)(name.length < 63 ? name.length : 63), name.text);
	if (near)
		snprintf(fix, 160, "did you mean %.100s?", near);
	else
		snprintf(fix, 160, "write a [%s %.100s]", section_name(kind), copy);
	return fix;
}

struct about setting_about(const struct setting *setting)
{
	return (struct about){
		.origin = setting->file, .line = setting->line, .column = setting->column};
}

const struct setting *section_setting(const gpumap_section *section, enum profile_key_id key)
{
	const struct setting *settings = section->profile->settings + section->first;

	for (size_t i = 0; i < section->count; i++)
		if (settings[i].key == profile_key(key))
			return &settings[i];
	return NULL;
}

const char *sweep_value(const gpumap_section *sweep, size_t combination, size_t variable)
{
	for (size_t i = sweep->variable_count; i-- > variable + 1;)
		combination /= sweep->variables[i].count;
	return sweep->variables[variable].values[combination % sweep->variables[variable].count];
}
