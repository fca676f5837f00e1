/* SPDX-License-Identifier: MIT */
/* Reads the [trainer NAME] section of a profile. */
#include <string.h>

#include "settings/print_findings.h"
#include "settings/arguments_raw.h"
#include "suggest.h"

static bool no_section(const struct arguments_raw *raw, const gpumap_profile *profile,
		       struct train_error *error)
{
	const gpumap_section *s;
	const char *file = gpumap_profile_str(profile, GPUMAP_PROFILE_FILE);
	struct nearest nearest = nearest_to(span_of(raw->trainer));

	if (!file)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--trainer: no such section: [trainer %.64s]: no profile file "
				  "was found; name one with --config, or with GPUMAP_CONFIG for "
				  "gpumap run and its programs",
				  raw->trainer);
	for (size_t i = 0; (s = gpumap_profile_section(profile, "trainer", i)); i++)
		nearest_try(&nearest, gpumap_section_str(s, GPUMAP_SECTION_NAME));
	return train_fail(error, TRAIN_BAD_INPUT, "--trainer: %.200s has no [trainer %.64s]; %s",
			  file, raw->trainer,
			  DID_YOU_MEAN(nearest.name, "write that section, or leave --trainer out"));
}

/* The named one, or the only one; *ret is NULL if there is none. */
static bool find_section(const struct arguments_raw *raw, const gpumap_profile *profile,
			 const gpumap_section **ret, struct train_error *error)
{
	const gpumap_section *s;

	*ret = NULL;
	for (size_t i = 0; (s = gpumap_profile_section(profile, "trainer", i)); i++) {
		if (!raw->trainer && *ret)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s has several [trainer] sections; name one with "
					  "--trainer, such as --trainer %.64s",
					  gpumap_profile_str(profile, GPUMAP_PROFILE_FILE),
					  gpumap_section_str(*ret, GPUMAP_SECTION_NAME));
		if (!raw->trainer ||
		    strcmp(raw->trainer, gpumap_section_str(s, GPUMAP_SECTION_NAME)) == 0)
			*ret = s;
	}
	return *ret || !raw->trainer || no_section(raw, profile, error);
}

static bool unknown(const struct arguments_raw *raw, const char *name, const char *origin,
		    struct train_error *error)
{
	struct nearest nearest = nearest_to(span_of(name));

	for (int i = 0; i < ROWS; i++)
		nearest_try(&nearest, rows[i].name);
	for (int i = 0; i < raw->keys_count; i++)
		nearest_try(&nearest, raw->keys[i].name);
	nearest_try(&nearest, "inventory");
	return train_fail(error, TRAIN_BAD_INPUT, "%.200s: no such key: '%.64s'; %s", origin, name,
			  DID_YOU_MEAN(nearest.name, "gpumap-train(1) lists the keys; keys that "
						     "begin with x_ are ignored"));
}

/* A statement, unless an option or the environment gives it. */
static bool state(struct arguments_raw *raw, struct raw_key *key, const char *value,
		  const char *origin, const char *const *envp, struct train_error *error)
{
	if (key->text || environ_nonempty(envp, key->environment))
		return true;
	key->text = value;
	return raw_state(raw, key, origin, error);
}

static bool read_entry(struct arguments_raw *raw, const char *name, const char *value,
		       const char *origin, const char *const *envp, struct train_error *error)
{
	if (strncmp(name, "x_", 2) == 0)
		return true;
	if (strcmp(name, "inventory") == 0) {
		if (*value && !raw->inventory && !environ_nonempty(envp, "GPUMAP_INVENTORY"))
			raw->inventory = value;
		return true;
	}
	for (int i = 0; i < raw->keys_count; i++)
		if (strcmp(raw->keys[i].name, name) == 0)
			return !*value || state(raw, &raw->keys[i], value, origin, envp, error);
	for (int i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (!raw->rows[i].text && *value) {
			raw->rows[i].text = value;
			raw->rows[i].origin = origin;
		}
		return true;
	}
	return unknown(raw, name, origin, error);
}

/* The profile expands ${VAR} from the environment; a variable that is left is not set. */
static bool expand(const struct arguments_raw *raw, gpumap_profile *profile,
		   const gpumap_section *section, const char *const *envp,
		   struct train_error *error)
{
	bool any = false;

	for (size_t i = 0; i < gpumap_section_entry_count(section); i++)
		any = any || strstr(gpumap_section_entry(section, i, GPUMAP_SETTING_TEXT), "${");
	return !any || findings_good(raw->report,
				     gpumap_profile_set_environ(profile, envp, raw->report), error);
}

static bool read_section(struct arguments_raw *raw, const gpumap_section *section,
			 const char *const *envp, struct train_error *error)
{
	for (size_t i = 0; i < gpumap_section_entry_count(section); i++) {
		const char *name = gpumap_section_entry(section, i, GPUMAP_SETTING_NAME);
		const char *value = gpumap_section_entry(section, i, GPUMAP_SETTING_VALUE);
		const char *origin = gpumap_section_entry(section, i, GPUMAP_SETTING_ORIGIN);

		if (strstr(value, "${"))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s: a variable of '%.64s' is not set; set it, or "
					  "write a default: ${NAME:-value}",
					  origin, value);
		if (!read_entry(raw, name, value, origin, envp, error))
			return false;
	}
	return true;
}

bool raw_read_section(struct arguments_raw *raw, gpumap_profile **ret, const char *const *envp,
		      struct train_error *error)
{
	const gpumap_section *section;
	gpumap_profile *profile;
	int code = gpumap_profile_open(&profile, raw->config, NULL, envp, GPUMAP_OPEN_FLAG_HERE,
				       raw->report);

	if (!findings_good(raw->report, code, error))
		return false;
	if (find_section(raw, profile, &section, error) &&
	    (!section || (expand(raw, profile, section, envp, error) &&
			  read_section(raw, section, envp, error)))) {
		*ret = profile;
		return true;
	}
	gpumap_profile_free(profile);
	return false;
}
