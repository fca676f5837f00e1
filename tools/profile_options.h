/* SPDX-License-Identifier: MIT */
/* Which launch profile a command works on, and what its options change. */
#ifndef GM_PROFILE_OPTIONS_H
#define GM_PROFILE_OPTIONS_H

#include "command.h"

struct profile_options {
	const char *config;  /* --config */
	const char *profile; /* --profile */
	struct {
		const char *option, *key, *value, *origin;
	} settings[MAX_OPTIONS];
	int count;
};

/* Sets the key of this option, which findings are to call `origin`; false: no key has it. */
bool profile_option_as(struct profile_options *options, const char *name, const char *value,
		       const char *origin);
/* The value that options have given that one; NULL: none. */
const char *profile_option_value(const struct profile_options *options, const char *name);
/* Takes --config, --profile and the options of a profile's keys; false: another one. */
bool profile_option(struct profile_options *options, const char *name, const char *value);

/* The profile of --config or the file that gpumap_profile_open finds. The options and the
 * environment are applied. */
int profile_open(gpumap_profile **ret, const struct profile_options *options,
		 gpumap_report *report);

/* Whether the profile can be launched; a sweep's variables are those of its first run. */
bool profile_check_launch(gpumap_profile *profile, gpumap_report *report);

#endif
