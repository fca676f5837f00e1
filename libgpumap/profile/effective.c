/* SPDX-License-Identifier: MIT */
/* Which setting decides a key (rule S6). */
#include "profile/profile.h"

const struct setting *profile_decides(const gpumap_profile *profile, enum profile_key_id key,
				      const struct place *place)
{
	const struct setting *option = &profile->settings[OPTIONS + key - SETTING_FIRST];
	const struct setting *variable = &profile->settings[VARIABLES + key - SETTING_FIRST];
	const struct setting *found = NULL;

	if (option->text || variable->text)
		return option->text ? option : variable;
	if (profile_key(key)->in == SECTION_PROGRAM)
		return program_setting(profile, key,
				       profile_decides(profile, PKEY_PROFILE_program, place));
	found = override_setting(profile, key, place);
	for (size_t i = 0; !found && i < profile->depth; i++)
		found = section_setting(&profile->sections[profile->chain[i]], key);
	return found;
}

bool profile_states(const gpumap_profile *profile, enum profile_key_id key)
{
	const struct setting *setting = profile_decides(profile, key, NO_PLACE);

	return setting && *setting->text;
}

static const char *origin_of(const void *data, struct span key)
{
	enum profile_key_id id = setting_key(key);
	const struct setting *setting =
		id == PKEY_COUNT ? NULL : profile_decides(data, id, NO_PLACE);

	return setting && *setting->text ? setting->origin : NULL;
}

struct speech profile_speech(const gpumap_profile *profile)
{
	bool options = !profile->file;

	for (size_t i = OPTIONS; i < VARIABLES; i++)
		if (profile->settings[i].text)
			options = options && (speech_of_command(profile->settings[i].origin) ||
					      speech_of_program(profile->settings[i].origin));
	return (struct speech){origin_of, profile, options};
}

static const char *setting_str(const gpumap_profile *profile, const struct profile_key *key,
			       const struct setting *setting, enum gpumap_setting_attr attr)
{
	const char *text = setting ? setting->text : "";
	const char *value = setting ? profile_value(profile, setting) : "";

	return TEXT_AT(attr, [GPUMAP_SETTING_NAME] = key->key.name,
		       [GPUMAP_SETTING_VALUE] = *value ? value : key->key.initial,
		       [GPUMAP_SETTING_TEXT] = *text ? text : key->key.initial,
		       [GPUMAP_SETTING_ORIGIN] = setting ? setting->origin : "default");
}

EXPORT const char *gpumap_profile_setting_at(const gpumap_profile *profile, const char *name,
					     enum gpumap_setting_attr attr, const char *host,
					     int64_t node, int64_t rank, int64_t local_rank)
{
	struct place place = {host, node, rank, local_rank};
	enum profile_key_id key = setting_key(span_of(name));

	if (!profile || key == PKEY_COUNT)
		return NULL;
	return setting_str(profile, profile_key(key), profile_decides(profile, key, &place), attr);
}

EXPORT const char *gpumap_profile_setting(const gpumap_profile *profile, const char *name,
					  enum gpumap_setting_attr attr)
{
	return gpumap_profile_setting_at(profile, name, attr, NULL, -1, -1, -1);
}

struct key_value profile_key_value(const gpumap_profile *profile, enum profile_key_id key)
{
	return key_value(key, gpumap_profile_setting(profile, profile_key(key)->key.name,
						     GPUMAP_SETTING_VALUE));
}
