/* SPDX-License-Identifier: MIT */
/* The profile reader: what it takes can be printed, and what is printed is taken again and
 * prints the same. Files that a text includes are the text itself, once more. */
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int same_text(void *data, const char *path, bool optional, char **text, size_t *size,
		     gpumap_report *report)
{
	const struct span *whole = data;

	if (optional)
		return GPUMAP_OK;
	*size = whole->length;
	*text = malloc(whole->length + 1);
	if (!*text)
		return report_nomem(report);
	memcpy(*text, whole->text, whole->length);
	return GPUMAP_OK;
}

/* The program's name may be made up and its command be written in another form, so the arguments
 * are compared instead. */
static void check_values(const gpumap_profile *a, const gpumap_profile *b)
{
	size_t count = gpumap_profile_argument_count(a);

	for (int i = SETTING_FIRST; i < SETTING_END; i++) {
		const char *name = profile_key((enum profile_key_id)i)->key.name;
		bool may_differ = i == PKEY_PROFILE_program || i == PKEY_PROFILE_inherit ||
				  i == PKEY_PROGRAM_command;

		if (!may_differ &&
		    strcmp(gpumap_profile_setting(a, name, GPUMAP_SETTING_VALUE),
			   gpumap_profile_setting(b, name, GPUMAP_SETTING_VALUE)) != 0)
			abort();
	}
	if (gpumap_profile_argument_count(b) != count ||
	    gpumap_profile_variable_count(b) != gpumap_profile_variable_count(a))
		abort();
	for (size_t i = 0; i < count; i++)
		if (strcmp(gpumap_profile_argument(a, i), gpumap_profile_argument(b, i)) != 0)
			abort();
}

static void check_again(const gpumap_profile *profile, const char *first, const char *const *envp)
{
	gpumap_profile *again = NULL;
	char *second = NULL;
	int r = gpumap_profile_parse(&again, first, strlen(first), "again", NULL, NULL);

	/* Variables of a whole chain can be too many for one section. */
	if (r == GPUMAP_ELIMIT)
		return;
	if (r != GPUMAP_OK || gpumap_profile_set_environ(again, envp, NULL) != GPUMAP_OK ||
	    gpumap_profile_format(&second, again, GPUMAP_FORMAT_INI, 0, NULL) != GPUMAP_OK ||
	    strcmp(first, second) != 0)
		abort();
	check_values(profile, again);
	free(second);
	gpumap_profile_free(again);
}

static void check_round_trip(gpumap_profile *profile, const char *const *envp)
{
	char *text = NULL;

	if (gpumap_profile_format(&text, profile, GPUMAP_FORMAT_INI, 0, NULL) != GPUMAP_OK)
		abort();
	/* A value may be valid only while its variable is not known. */
	if (gpumap_profile_check(profile, NULL) == GPUMAP_OK)
		check_again(profile, text, envp);
	free(text);
}

static void look(gpumap_profile *profile)
{
	const gpumap_section *s;
	char *json = NULL;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++) {
		size_t last = gpumap_sweep_combination_count(s) - 1;

		if (!gpumap_sweep_value(s, last, 0) || gpumap_sweep_value(s, last + 1, 0))
			abort();
	}
	for (int i = SETTING_FIRST; i < SETTING_END; i++)
		if (!gpumap_profile_setting_at(profile,
					       profile_key((enum profile_key_id)i)->key.name,
					       GPUMAP_SETTING_VALUE, "tux01", 1, 2, 3))
			abort();
	if (gpumap_profile_format(&json, profile, GPUMAP_FORMAT_JSON, 0, NULL) != GPUMAP_OK)
		abort();
	free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const envp[] = {"A=a b", "G=1,2", "X=${A} %r 'q", "EMPTY=", NULL};
	struct span text = {(const char *)data, size};
	gpumap_profile *profile = NULL;
	gpumap_report *report;
	int r;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	r = profile_load(&profile, "fuzz", text, NULL, same_text, &text, report);
	if (r != GPUMAP_OK && (profile || gpumap_report_worst(report) != GPUMAP_SEVERITY_ERROR))
		abort();
	if (r == GPUMAP_OK) {
		r = gpumap_profile_set_environ(profile, envp, report);
		/* A variable can make a list of hosts too long. */
		if (r != GPUMAP_OK && r != GPUMAP_ELIMIT)
			abort();
		look(profile);
		if (r == GPUMAP_OK)
			check_round_trip(profile, envp);
		gpumap_profile_free(profile);
	}
	gpumap_report_free(report);
	return 0;
}
