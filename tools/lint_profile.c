/* SPDX-License-Identifier: MIT */
#include "lint.h"

#include <string.h>
#include <unistd.h>

#include "lint/python.h"
#include "lint/settings.h"
#include "plan_open.h"
#include "report.h"

/* What a plan would be refused for, where the machine is known: this one need not be where
 * the profile is launched. */
static void look_at_plan(const struct lint *lint, gpumap_profile *profile, gpumap_report *report)
{
	const struct plan_options nothing = {.file = NULL};
	gpumap_report *heard = NULL;
	gpumap_plan *plan = NULL;
	int64_t node;

	if (lint->what &&
	    gpumap_profile_set(profile, "inventory", lint->what, "--inventory", report))
		return;
	if ((!lint->what &&
	     streq(gpumap_profile_str(profile, "inventory", GPUMAP_SETTING_VALUE), "host")) ||
	    streq(gpumap_profile_str(profile, "hosts", GPUMAP_SETTING_VALUE), "slurm") ||
	    gpumap_report_new(&heard) != GPUMAP_OK)
		return;
	plan_from(&plan, &node, profile, &nothing, heard);
	for (size_t i = 0; i < gpumap_report_count(heard); i++) {
		const gpumap_finding *f = gpumap_report_get(heard, i);

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) != GPUMAP_REMARK)
			report_copy(report, f);
	}
	gpumap_plan_free(plan);
	gpumap_report_free(heard);
}

/* The Python file among the arguments of the command; NULL: there is none. */
static const char *python_file(const gpumap_profile *profile)
{
	for (size_t i = 0; i < gpumap_profile_argument_count(profile); i++) {
		const char *argument = gpumap_profile_argument(profile, i);
		size_t n = strlen(argument);

		if (n > 3 && streq(argument + n - 3, ".py"))
			return argument;
	}
	return NULL;
}

static int look(struct lint *lint, gpumap_profile *profile, const char *path, gpumap_report *report)
{
	struct python_start start = {NULL, 0, lint->inventory};
	const char *file;

	if (gpumap_profile_environ(profile, (const char *const *)environ, report) != GPUMAP_OK)
		return GPUMAP_OK;
	if (profile_check_launch(profile, report))
		look_at_plan(lint, profile, report);
	lint_settings(profile, report);
	start.launcher = gpumap_profile_str(profile, "launcher", GPUMAP_SETTING_VALUE);
	if (streq(start.launcher, "local"))
		start.launcher = "gpumap run";
	start.passes =
		!streq(gpumap_profile_str(profile, "pass_local_rank", GPUMAP_SETTING_VALUE), "no");
	file = python_file(profile);
	return file ? lint_started_file(lint, &start, path, file) : GPUMAP_OK;
}

/* Reads the file for one profile. *ret (may be NULL) is the profile, where it could be read. */
static int read_one(struct lint *lint, struct span text, const char *path, const char *name,
		    gpumap_profile **ret)
{
	gpumap_profile *profile = NULL;
	gpumap_report *report;
	int r = gpumap_report_new(&report);

	if (r != GPUMAP_OK)
		return report_nomem(lint->found);
	r = gpumap_profile_parse(&profile, text.text, text.length, path, name, report);
	if (r == GPUMAP_OK && gpumap_profile_name(profile))
		r = look(lint, profile, path, report);
	/* Profiles share what they inherit: its faults are told once. */
	lint_relay(lint->found, report);
	gpumap_report_free(report);
	if (ret && r == GPUMAP_OK)
		*ret = profile;
	else
		gpumap_profile_free(profile);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}

int lint_profiles(struct lint *lint, struct span text, const char *path)
{
	gpumap_profile *first = NULL;
	const gpumap_section *s;
	int r = read_one(lint, text, path, lint->options.profile, &first);

	for (size_t i = 0; r == GPUMAP_OK && first && !lint->options.profile &&
			   (s = gpumap_profile_section(first, "profile", i));
	     i++) {
		const char *name = gpumap_section_str(s, GPUMAP_SECTION_NAME);
		const char *chosen = gpumap_profile_name(first);

		if (!chosen || !streq(name, chosen))
			r = read_one(lint, text, path, name, NULL);
	}
	gpumap_profile_free(first);
	return r;
}

int lint_default_profile(struct lint *lint)
{
	gpumap_profile *profile = NULL;
	int r = profile_open(&profile, &lint->options, lint->found);

	if (r == GPUMAP_OK && gpumap_profile_file(profile))
		r = lint_file(lint, gpumap_profile_file(profile));
	gpumap_profile_free(profile);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}
