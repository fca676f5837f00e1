/* SPDX-License-Identifier: MIT */
/* Launch profiles. */
#include "lint/files.h"

#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "memory.h"
#include "report/report.h"

/* The command's arguments, ended by NULL; the caller frees the array. */
static const char **words_of(const gpumap_profile *profile)
{
	size_t count = gpumap_profile_argument_count(profile);
	const char **words = xcalloc(count + 1, sizeof(*words));

	for (size_t i = 0; i < count; i++)
		words[i] = gpumap_profile_argument(profile, i);
	return words;
}

/* The Python file among them; NULL: there is none. */
static const char **python_file(const char **words)
{
	for (; *words; words++)
		if (is_python_file(span_of(*words)))
			return words;
	return NULL;
}

static bool has_macro(const char *const *words)
{
	for (; *words; words++)
		if (strchr(*words, '%'))
			return true;
	return false;
}

static void look(const struct lint *lint, gpumap_profile *profile, const char *path,
		 gpumap_report *report)
{
	struct python_start start = python_start_unknown();
	CLEANUP_FREE const char **words = NULL;
	const char **file;
	OWNED(plan) *plan = NULL;

	if (gpumap_profile_set_environ(profile, (const char *const *)environ, report) != GPUMAP_OK)
		return;
	plan = lint->check_launch(lint, profile, &start, report);
	lint_settings(profile, report);
	start.launcher = gpumap_profile_setting(profile, "launcher", GPUMAP_SETTING_VALUE);
	if (streq(start.launcher, "local"))
		start.launcher = "gpumap run";
	start.alone = streq(gpumap_profile_setting(profile, "ranks", GPUMAP_SETTING_VALUE), "1") ||
		      streq(gpumap_profile_setting(profile, "mode", GPUMAP_SETTING_VALUE), "dp");
	start.passes = !streq(
		gpumap_profile_setting(profile, "pass_local_rank", GPUMAP_SETTING_VALUE), "no");
	start.inventory = lint->inventory;
	words = words_of(profile);
	file = python_file(words);
	if (file && !has_macro(file + 1))
		start.arguments = file + 1;
	if (file)
		lint_started_file(lint, &start, path, *file);
}

/* Reads the file for one profile. NULL: it cannot be read. */
static gpumap_profile *read_one(const struct lint *lint, struct span text, struct seen_file *file,
				const char *name)
{
	const char *path = file->path;
	gpumap_profile *profile = NULL;
	OWNED(report) *report = new_report();

	gpumap_profile_parse(&profile, text.text, text.length, path, name, report);
	if (profile && gpumap_profile_str(profile, GPUMAP_PROFILE_NAME))
		look(lint, profile, path, report);
	/* Profiles share their parents, so errors of a parent are reported once. */
	seen_relay(lint, file, report, false);
	return profile;
}

/* Each profile is read with all sections, and its program with it. */
enum { MAX_READ = 1 << 16 };

static void read_others(const struct lint *lint, struct span text, struct seen_file *file,
			const gpumap_profile *first)
{
	const char *chosen = gpumap_profile_str(first, GPUMAP_PROFILE_NAME);
	const gpumap_section *s;
	size_t count = 0;

	while (gpumap_profile_section(first, "profile", count))
		count++;
	for (size_t i = 0; i < count; i++) {
		if (i * count > MAX_READ || seen_full(lint->seen)) {
			report_add(lint->found, FINDING_LIMIT,
				   ABOUT(.origin = file->path, .fix = "name one by --profile"),
				   "it has %zu profiles, and only the first %zu are looked at",
				   count, i);
			break;
		}
		s = gpumap_profile_section(first, "profile", i);
		if (!chosen || !streq(gpumap_section_str(s, GPUMAP_SECTION_NAME), chosen))
			gpumap_profile_free(read_one(lint, text, file,
						     gpumap_section_str(s, GPUMAP_SECTION_NAME)));
	}
}

void lint_profiles(const struct lint *lint, struct span text, struct seen_file *file)
{
	OWNED(profile) *first = read_one(lint, text, file, lint->profile);

	if (first && !lint->profile)
		read_others(lint, text, file, first);
}
