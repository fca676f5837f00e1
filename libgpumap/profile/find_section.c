/* SPDX-License-Identifier: MIT */
/* The contents of a profile's files, section by section: found by names, and what they have. */
#include "profile/profile.h"

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
	struct nearest nearest = nearest_to(name);

	/* Of equally near ones the last. */
	for (size_t i = name.length > 2 ? profile->section_count : 0; i-- > 0;)
		if (profile->sections[i].kind == kind)
			nearest_try(&nearest, profile->sections[i].name);
	return nearest.name;
}

const char *profile_suggest(struct quoted *fix, const gpumap_profile *profile,
			    enum profile_section kind, struct span name)
{
	const char *near = profile_nearest(profile, kind, name);
	const char *copy = FORMAT("%.*s", (int)(name.length < 63 ? name.length : 63), name.text);

	if (near)
		return format_text(fix, "did you mean %.100s?", near);
	if (kind == SECTION_PROGRAM && strpbrk(copy, "./ "))
		return format_text(
			fix, "write command = %s into a [program NAME], and program = NAME here",
			copy);
	return format_text(fix, "write a [%s %s]", section_name(kind), copy);
}

int section_missing(const gpumap_profile *profile, enum profile_section kind, struct span name,
		    const struct setting *setting, gpumap_report *report)
{
	struct span wrong;

	if (expand_has_variable(name) || !form_check(form_find(span_of("NAME")), name, &wrong))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
			   ABOUT_SETTING(setting, PROFILE_SUGGEST(profile, kind, name)),
			   "no such %s: '%s'", section_name(kind), QUOTE(name));
}

const struct setting *section_setting(const gpumap_section *section, enum profile_key_id key)
{
	const struct setting *settings = section->profile->settings + section->first;

	for (size_t i = 0; i < section->count; i++)
		if (settings[i].key == profile_key(key))
			return &settings[i];
	return NULL;
}

const char *profile_value(const gpumap_profile *profile, const struct setting *setting)
{
	const char *value = profile->settled.values
				    ? profile->settled.values[setting - profile->settings]
				    : NULL;

	return value ? value : setting->text;
}

/* --- what callers read ------------------------------------------------------------ */

static const char *profile_name(const gpumap_profile *profile)
{
	return profile->chosen != NONE ? profile->sections[profile->chosen].name : NULL;
}

EXPORT const char *gpumap_profile_str(const gpumap_profile *profile,
				      enum gpumap_profile_str_attr attr)
{
	if (!profile)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_PROFILE_NAME] = profile_name(profile),
		       [GPUMAP_PROFILE_FILE] = profile->file);
}

EXPORT const gpumap_section *gpumap_profile_section(const gpumap_profile *profile, const char *kind,
						    size_t i)
{
	for (size_t k = 0; profile && k < profile->section_count; k++)
		if ((!kind || streq(section_name(profile->sections[k].kind), kind)) && i-- == 0)
			return &profile->sections[k];
	return NULL;
}

EXPORT const char *gpumap_section_str(const gpumap_section *section,
				      enum gpumap_section_str_attr attr)
{
	if (!section)
		return NULL;
	return TEXT_AT(
		attr, [GPUMAP_SECTION_KIND] = section_name(section->kind),
		[GPUMAP_SECTION_NAME] = section->name, [GPUMAP_SECTION_ORIGIN] = section->origin,
		[GPUMAP_SECTION_PARENT] =
			section->parent == NONE ? NULL
						: section->profile->sections[section->parent].name);
}

EXPORT size_t gpumap_section_entry_count(const gpumap_section *section)
{
	return section ? section->count : 0;
}

EXPORT const char *gpumap_section_entry(const gpumap_section *section, size_t i,
					enum gpumap_setting_attr attr)
{
	const struct setting *setting;

	if (i >= gpumap_section_entry_count(section))
		return NULL;
	setting = &section->profile->settings[section->first + i];
	return TEXT_AT(
		attr, [GPUMAP_SETTING_NAME] = setting->name,
		[GPUMAP_SETTING_VALUE] = profile_value(section->profile, setting),
		[GPUMAP_SETTING_TEXT] = setting->text, [GPUMAP_SETTING_ORIGIN] = setting->origin);
}
