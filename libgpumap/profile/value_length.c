/* SPDX-License-Identifier: MIT */
/* How long a value of a profile may be. */
#include "profile/profile.h"

#include "text/inifile.h"

unsigned profile_value_most(const struct profile_key *key, bool in_file)
{
	if (in_file)
		return key && value_is_raw(key->kind) ? INIFILE_MAX_WRITTEN : GPUMAP_MAX_VALUE;
	/* Linux takes 2 MiB of arguments; in the value they are longer, by quotes. */
	return key && key->kind == VALUE_COMMAND ? GPUMAP_MAX_PROFILE : GPUMAP_MAX_VALUE;
}

size_t profile_value_length(struct span text)
{
	size_t bytes = text.length;

	for (size_t i = 0; i + 2 < text.length; i++)
		bytes -= memcmp(text.text + i, "$${", 3) == 0;
	return bytes;
}
