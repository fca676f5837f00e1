/* SPDX-License-Identifier: MIT */
#include "lint.h"

#include <string.h>
#include <unistd.h>

#include "lint/settings.h"
#include "report.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static bool same(const gpumap_finding *a, const gpumap_finding *b)
{
	return gpumap_finding_int(a, GPUMAP_FINDING_LINE) ==
		       gpumap_finding_int(b, GPUMAP_FINDING_LINE) &&
	       same_text(gpumap_finding_str(a, GPUMAP_FINDING_ORIGIN),
			 gpumap_finding_str(b, GPUMAP_FINDING_ORIGIN)) &&
	       same_text(gpumap_finding_str(a, GPUMAP_FINDING_TEXT),
			 gpumap_finding_str(b, GPUMAP_FINDING_TEXT));
}

/* Profiles share what they inherit: its faults are told once. */
static void carry_new(gpumap_report *to, const gpumap_report *from)
{
	size_t before = gpumap_report_count(to);

	for (size_t i = 0; i < gpumap_report_count(from); i++) {
		const gpumap_finding *f = gpumap_report_get(from, i);
		int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
		int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);
		size_t k = 0;

		while (k < before && !same(gpumap_report_get(to, k), f))
			k++;
		if (k == before)
			report_relay(to, f,
				     ABOUT(.origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
					   .line = line > 0 ? (int)line : 0,
					   .column = column > 0 ? (int)column : 0));
	}
}

static void look(gpumap_profile *profile, gpumap_report *report)
{
	if (gpumap_profile_environ(profile, (const char *const *)environ, report) == GPUMAP_OK) {
		profile_check_launch(profile, report);
		lint_settings(profile, report);
	}
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
		look(profile, report);
	carry_new(lint->found, report);
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

		if (!same_text(name, gpumap_profile_name(first)))
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
