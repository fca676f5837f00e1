/* SPDX-License-Identifier: MIT */
/* See profile_options.h. */
#include "job/profile_options.h"

#include <unistd.h>

#include "owned.h"
#include "strbuf.h"
#include "text.h"

struct wanted {
	const char *option;
	const gpumap_key *found;
};

static int find_option(const gpumap_key *key, void *data)
{
	struct wanted *wanted = data;
	const char *option = gpumap_key_str(key, GPUMAP_KEY_OPTION);

	if (!option || !streq(option, wanted->option))
		return 0;
	wanted->found = key;
	return 1;
}

const char *profile_option_value(const struct profile_options *options, const char *name)
{
	for (int i = 0; i < options->count; i++)
		if (streq(options->settings[i].option, name))
			return options->settings[i].value;
	return NULL;
}

void profile_option(struct profile_options *options, const char *name, const char *value,
		    const char *origin)
{
	struct wanted wanted = {.option = name};
	int i = 0;

	gpumap_profile_key_each(find_option, &wanted);
	if (!wanted.found)
		return;
	while (i < options->count && !streq(options->settings[i].option, name))
		i++;
	options->settings[i].option = gpumap_key_str(wanted.found, GPUMAP_KEY_OPTION);
	options->settings[i].key = gpumap_key_str(wanted.found, GPUMAP_KEY_NAME);
	options->settings[i].value = value ? value : "yes";
	options->settings[i].origin = origin ? origin : options->settings[i].option;
	options->count += i == options->count;
}

static const char *name_of(const struct profile_options *options)
{
	return options->profile ? options->profile
				: environ_nonempty((const char *const *)environ, "GPUMAP_PROFILE");
}

/* Takes over the profile. */
static int apply(gpumap_profile **ret, gpumap_profile *profile,
		 const struct profile_options *options, gpumap_report *report)
{
	int r = gpumap_profile_set_environ(profile, (const char *const *)environ, report);

	for (int i = 0; i < options->count; i++) {
		int one = gpumap_profile_set(profile, options->settings[i].key,
					     options->settings[i].value,
					     options->settings[i].origin, report);

		r = one == GPUMAP_OK ? r : one;
	}
	return give_profile(ret, profile, r);
}

static int open_named(gpumap_profile **ret, const struct profile_options *options, const char *name,
		      gpumap_report *report)
{
	return gpumap_profile_open(ret, options->config, name, (const char *const *)environ, 0,
				   report);
}

int profile_open(gpumap_profile **ret, const struct profile_options *options, gpumap_report *report)
{
	gpumap_profile *profile = NULL;
	int r = open_named(&profile, options, name_of(options), report);

	return r == GPUMAP_OK ? apply(ret, profile, options, report) : r;
}

int profile_open_first(gpumap_profile **ret, const struct profile_options *options,
		       gpumap_report *report)
{
	const char *name = name_of(options);
	gpumap_profile *profile = NULL;
	CLEANUP(strbuf_free) struct strbuf text = {0};
	bool first;
	int r;

	if (!name || open_named(&profile, options, NULL, NULL) != GPUMAP_OK)
		return profile_open(ret, options, report);
	first = !gpumap_profile_section(profile, "profile", 0);
	gpumap_profile_free(profile);
	if (!first)
		return profile_open(ret, options, report);
	strbuf_printf(&text, "[profile %s]\n", name);
	r = gpumap_profile_parse(&profile, text.text, text.length, "--profile", name, report);
	return r == GPUMAP_OK ? apply(ret, profile, options, report) : r;
}

const char *sweep_profile(const gpumap_section *sweep)
{
	for (size_t i = 0; i < gpumap_section_entry_count(sweep); i++)
		if (streq(gpumap_section_entry(sweep, i, GPUMAP_SETTING_NAME), "profile"))
			return gpumap_section_entry(sweep, i, GPUMAP_SETTING_VALUE);
	return NULL;
}

bool profile_check_launch(gpumap_profile *profile, gpumap_report *report)
{
	const gpumap_section *s;
	bool swept = false, good = true;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++) {
		const char *of = sweep_profile(s);

		if (!of || !text_same(of, gpumap_profile_str(profile, GPUMAP_PROFILE_NAME)))
			continue;
		swept = true;
		if (gpumap_profile_set_sweep(profile, gpumap_section_str(s, GPUMAP_SECTION_NAME), 0,
					     report) == GPUMAP_OK)
			good = gpumap_profile_check(profile, report) == GPUMAP_OK && good;
	}
	if (swept)
		gpumap_profile_set_sweep(profile, NULL, 0, report);
	else
		good = gpumap_profile_check(profile, report) == GPUMAP_OK;
	return good;
}
