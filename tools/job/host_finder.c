/* SPDX-License-Identifier: MIT */
/* See host_finder.h. */
#include "job/host_finder.h"

#include <stdlib.h>

#include "base.h"

const char *finder_value(const struct finder *f, const char *key)
{
	return gpumap_profile_setting(f->profile, key, GPUMAP_SETTING_VALUE);
}

const char *finder_origin(const struct finder *f, const char *key)
{
	const char *text = gpumap_profile_setting(f->profile, key, GPUMAP_SETTING_ORIGIN);

	return streq(text, "default") ? NULL : text;
}

const char *finder_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}
