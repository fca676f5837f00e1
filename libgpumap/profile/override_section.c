/* SPDX-License-Identifier: MIT */
/* [override NAME]: which profiles it changes, on which hosts and ranks it applies, and which keys
 * its conditions allow. */
#include "profile/profile.h"

#include "text/hostlist.h"
#include "text/inifile.h"

static bool in_chain(const gpumap_profile *profile, struct span name)
{
	for (size_t i = 0; i < profile->depth; i++)
		if (span_is(name, profile->sections[profile->chain[i]].name))
			return true;
	return span_is(name, "*");
}

bool override_applies(const gpumap_profile *profile, const gpumap_section *section)
{
	const struct setting *names;
	struct span rest, item;

	if (section->kind != SECTION_OVERRIDE || profile->chosen == NONE)
		return false;
	names = section_setting(section, PKEY_OVERRIDE_profile);
	rest = span_of(names ? names->text : "");
	while (inifile_item(&rest, &item))
		if (in_chain(profile, item))
			return true;
	return false;
}

/* --- the keys ------------------------------------------------------------------- */

static bool has_condition(const gpumap_section *section, enum profile_key_id key)
{
	const struct setting *setting = section_setting(section, key);

	return setting && *setting->text;
}

/* Whether a condition is finer than the key's scope. Returns what it tests. */
static const char *too_fine(const gpumap_section *section, enum value_scope scope)
{
	static const enum profile_key_id finest_first[] = {
		PKEY_OVERRIDE_when_rank, PKEY_OVERRIDE_when_local_rank, PKEY_OVERRIDE_when_node,
		PKEY_OVERRIDE_when_host};
	size_t end = scope == SCOPE_RANK ? 0 : scope == SCOPE_NODE ? 2 : 4;

	for (size_t i = 0; i < end; i++)
		if (has_condition(section, finest_first[i]))
			return profile_key(finest_first[i])->key.name;
	return NULL;
}

int override_check(const gpumap_section *section, gpumap_report *report)
{
	const struct setting *names = section_setting(section, PKEY_OVERRIDE_profile);
	int code = GPUMAP_OK;

	if (!names || !*names->text)
		code = report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OVERRIDE,
			ABOUT_SECTION(section, "write profile = NAME, or * for every one"),
			"[override %s] does not name the profile that it changes", section->name);
	for (size_t i = 0; i < section->count; i++) {
		const struct setting *setting = &section->profile->settings[section->first + i];
		const char *condition;

		if (!setting->key || setting->key->in != SECTION_PROFILE)
			continue;
		condition = too_fine(section, setting->key->scope);
		if (!condition)
			continue;
		code = report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OVERRIDE,
			ABOUT_SETTING(setting, setting->key->scope == SCOPE_JOB
						       ? "it is the same for the whole job"
						       : "it is the same for all ranks of a host"),
			"%s cannot depend on %s", setting->name, condition);
	}
	return code;
}
