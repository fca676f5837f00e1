/* SPDX-License-Identifier: MIT */
/* The contents of a profile's files, section by section. */
#include "profile/profile.h"

static const char *profile_name(const gpumap_profile *profile)
{
	return profile->chosen != NONE ? profile->sections[profile->chosen].name : NULL;
}

EXPORT const char *gpumap_profile_str(const gpumap_profile *profile,
				      enum gpumap_profile_str_attr attr)
{
	if (!profile)
		return NULL;
	switch (attr) {
	case GPUMAP_PROFILE_NAME:
		return profile_name(profile);
	case GPUMAP_PROFILE_FILE:
		return profile->file;
	default:
		return NULL;
	}
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
	switch (attr) {
	case GPUMAP_SECTION_KIND:
		return section_name(section->kind);
	case GPUMAP_SECTION_NAME:
		return section->name;
	case GPUMAP_SECTION_ORIGIN:
		return section->origin;
	case GPUMAP_SECTION_PARENT:
		return section->parent == NONE ? NULL
					       : section->profile->sections[section->parent].name;
	default:
		return NULL;
	}
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
	switch (attr) {
	case GPUMAP_SETTING_NAME:
		return setting->name;
	case GPUMAP_SETTING_VALUE:
		return profile_value(section->profile, setting);
	case GPUMAP_SETTING_TEXT:
		return setting->text;
	case GPUMAP_SETTING_ORIGIN:
		return setting->origin;
	default:
		return NULL;
	}
}
