/* SPDX-License-Identifier: MIT */
/* See profile_keys.h. */
#include "request/profile_keys.h"

static const char *const sections[] = {
	[SECTION_GPUMAP] = "gpumap",   [SECTION_PROFILE] = "profile",
	[SECTION_PROGRAM] = "program", [SECTION_OVERRIDE] = "override",
	[SECTION_SWEEP] = "sweep",     [SECTION_LEASES] = "leases",
	[SECTION_ENV] = "env",         [SECTION_UNSET] = "unset",
	[SECTION_TRAINER] = "trainer",
};

#define SECTION_TEXT_GPUMAP "gpumap"
#define SECTION_TEXT_PROFILE "profile"
#define SECTION_TEXT_PROGRAM "program"
#define SECTION_TEXT_OVERRIDE "override"
#define SECTION_TEXT_SWEEP "sweep"
#define SECTION_TEXT_LEASES "leases"

static const struct profile_key keys[] = {
#define PROFILE_KEY(section_, name_, option_, environment_, kind_, scope_, value_, initial_, use_, \
		    help_) \
	{.key = {.name = #name_, \
		 .option = option_, \
		 .environment = environment_, \
		 .value = value_, \
		 .help = help_, \
		 .section = SECTION_TEXT_##section_, \
		 .initial = initial_}, \
	 .in = SECTION_##section_, \
	 .kind = VALUE_##kind_, \
	 .scope = SCOPE_##scope_, \
	 .use = (use_)},
#include "request/profile_keys.def"
#undef PROFILE_KEY
};

const struct profile_key *profile_key(enum profile_key_id id)
{
	return &keys[id];
}

const char *section_name(enum profile_section section)
{
	return sections[section];
}

enum profile_section section_find(struct span name)
{
	int i = 0;

	while (i < SECTION_COUNT && !span_is(name, sections[i]))
		i++;
	return (enum profile_section)i;
}

bool section_has_name(enum profile_section section)
{
	return section != SECTION_GPUMAP && section != SECTION_LEASES;
}

enum profile_key_id setting_key(struct span name)
{
	for (int i = SETTING_FIRST; i < SETTING_END; i++)
		if (span_is(name, keys[i].key.name))
			return (enum profile_key_id)i;
	return PKEY_COUNT;
}

bool key_picks_device(enum profile_key_id id)
{
	return keys[id].in == SECTION_PROGRAM && (keys[id].use & EXEC_DOES);
}

bool value_is_list(enum value_kind kind)
{
	return kind == VALUE_LIST || kind == VALUE_MACRO_LIST;
}

bool value_is_raw(enum value_kind kind)
{
	return value_is_list(kind) || kind == VALUE_COMMAND;
}

bool value_has_macros(enum value_kind kind)
{
	return kind == VALUE_MACROS || kind == VALUE_MACRO_LIST || kind == VALUE_STREAM ||
	       kind == VALUE_COMMAND;
}

EXPORT int gpumap_profile_key_each(int (*fn)(const gpumap_key *key, void *data), void *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int r = fn(&keys[i].key, data);

		if (r)
			return r;
	}
	return 0;
}
