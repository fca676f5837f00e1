/* SPDX-License-Identifier: MIT */
/* [program NAME], which a profile or an [override] chooses with program = NAME. */
#include "profile/profile.h"

const struct setting *program_setting(const gpumap_profile *profile, enum profile_key_id key,
				      const struct setting *program)
{
	const char *name = program ? profile_value(profile, program) : "";
	size_t i = profile_find(profile, SECTION_PROGRAM, span_of(name));

	return i == NONE ? NULL : section_setting(&profile->sections[i], key);
}

const struct setting *unknown_program(const gpumap_profile *profile, const gpumap_section *section)
{
	const struct setting *program = section_setting(section, PKEY_PROFILE_program);

	return program && *program->text && !expand_has_variable(span_of(program->text)) &&
			       profile_find(profile, SECTION_PROGRAM, span_of(program->text)) ==
				       NONE
		       ? program
		       : NULL;
}
