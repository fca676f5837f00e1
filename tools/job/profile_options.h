/* SPDX-License-Identifier: MIT */
/* The launch profile of a command, and the options that change it. */
#ifndef GM_PROFILE_OPTIONS_H
#define GM_PROFILE_OPTIONS_H

#include "cli/options.h"

struct profile_options {
	const char *config;  /* --config */
	const char *profile; /* --profile */
	struct {
		const char *option, *key, *value, *origin;
	} settings[MAX_OPTIONS];
	int count;
};

/* The options that profile_option takes besides those of keys; for the tables of commands. */
#define PROFILE_OPTION_ROWS(type, member) \
	{"--config", "FILE", \
	 "the profile file; default: GPUMAP_CONFIG, else the first of ./gpumap.ini, " \
	 "~/.config/gpumap/gpumap.ini and /etc/gpumap/gpumap.ini", \
	 TEXT_TO(type, member.config)}, \
	{ \
		"--profile", "NAME", \
			"the profile to use; default: GPUMAP_PROFILE, else the file's default", \
			TEXT_TO(type, member.profile) \
	}

/* Sets the key of this option, if one has it; findings name it `origin`, or NULL: the option. */
void profile_option(struct profile_options *options, const char *name, const char *value,
		    const char *origin);
/* The value that options gave that key; NULL: none. */
const char *profile_option_value(const struct profile_options *options, const char *name);

/* The profile of --config, or of the file that gpumap_profile_open finds, with the options and the
 * environment applied. */
int profile_open(gpumap_profile **ret, const struct profile_options *options,
		 gpumap_report *report);

/* The same, but where no profile is written yet, the one that is named has no settings. */
int profile_open_first(gpumap_profile **ret, const struct profile_options *options,
		       gpumap_report *report);

/* The name of a sweep's profile; NULL: it has none. */
const char *sweep_profile(const gpumap_section *sweep);

/* Whether the profile can be launched; a sweep's variables are those of its first run. */
bool profile_check_launch(gpumap_profile *profile, gpumap_report *report);

#endif
