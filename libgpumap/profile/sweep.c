/* SPDX-License-Identifier: MIT */
/* Sweeps: one run for each combination of their variables' values. */
#include "profile/profile.h"

#include <stdio.h>

#include "suggest.h"
#include "text/inifile.h"

static int read_variable(gpumap_profile *p, struct sweep_variable *variable,
			 const struct setting *setting, gpumap_report *report)
{
	struct span rest = span_of(setting->text), item;
	size_t n = 0;

	variable->setting = setting;
	while (inifile_item(&rest, &item))
		variable->count++;
	variable->values = arena_alloc(&p->arena, variable->count, sizeof(*variable->values));
	if (!variable->values)
		return report_nomem(report);
	rest = span_of(setting->text);
	while (inifile_item(&rest, &item)) {
		struct strbuf value = {0};

		inifile_decode(&value, item);
		variable->values[n++] = strbuf_keep(&value, &p->arena);
	}
	return p->arena.failed ? report_nomem(report) : GPUMAP_OK;
}

static int too_many(const gpumap_section *sweep, int max, const char *what, gpumap_report *report)
{
	return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
			   ABOUT_SECTION(sweep, "make several sweeps of it"),
			   "[sweep %s] has more than %d %s", sweep->name, max, what);
}

static int read_sweep(gpumap_profile *p, gpumap_section *sweep, bool good, gpumap_report *report)
{
	sweep->combinations = 1;
	sweep->variables = arena_alloc(&p->arena, MAX_VARIABLES, sizeof(*sweep->variables));
	if (!sweep->variables)
		return report_nomem(report);
	for (size_t i = 0; i < sweep->count; i++) {
		const struct setting *setting = &p->settings[sweep->first + i];
		struct sweep_variable *variable = &sweep->variables[sweep->variable_count];
		int r;

		if (setting->key)
			continue;
		if (sweep->variable_count == MAX_VARIABLES)
			return too_many(sweep, MAX_VARIABLES, "variables", report);
		r = read_variable(p, variable, setting, report);
		if (r != GPUMAP_OK)
			return r;
		sweep->variable_count++;
		sweep->combinations *= variable->count;
		if (sweep->combinations > MAX_COMBINATIONS)
			return too_many(sweep, MAX_COMBINATIONS, "combinations", report);
	}
	if (!sweep->variable_count && good)
		return report_fail(report, GPUMAP_EINPUT, FINDING_SYNTAX,
				   ABOUT_SECTION(sweep, "write name = value, value"),
				   "[sweep %s] has no variable", sweep->name);
	return GPUMAP_OK;
}

static void mark_used(void *data, struct span name)
{
	gpumap_profile *p = data;

	for (size_t i = 0; i < p->section_count; i++)
		for (size_t k = 0; k < p->sections[i].variable_count; k++)
			if (span_is(name, p->sections[i].variables[k].setting->name))
				p->sections[i].variables[k].used = true;
}

static void report_unused(const struct sweep_variable *variable, gpumap_report *report)
{
	static const char *const keys[] = {"profile", "jobs", NULL};
	const struct setting *setting = variable->setting;
	const char *near = suggest(span_of(setting->name), keys);
	bool known = setting_key(span_of(setting->name)) != PKEY_COUNT;
	const char *fix = near    ? FORMAT("did you mean %s?", near)
			  : known ? FORMAT("write %.40s = ${%.40s} into the profile or program",
					   setting->name, setting->name)
				  : "write it into the command";

	report_add(report, FINDING_UNUSED_SWEEP, ABOUT_SETTING(setting, fix), "nothing uses ${%s}",
		   setting->name);
}

int profile_read_sweeps(gpumap_profile *profile, bool good, gpumap_report *report)
{
	bool any = false;
	int code = GPUMAP_OK;

	for (size_t i = 0; i < profile->section_count; i++) {
		int r;

		if (profile->sections[i].kind != SECTION_SWEEP)
			continue;
		any = true;
		r = read_sweep(profile, &profile->sections[i], good, report);
		if (r == GPUMAP_ENOMEM)
			return r;
		code = code == GPUMAP_OK ? r : code;
	}
	if (!any || !good || code != GPUMAP_OK)
		return code;
	for (size_t i = IN_FILES; i < profile->setting_count; i++)
		expand_each_variable(span_of(profile->settings[i].text), mark_used, profile);
	for (size_t i = 0; i < profile->section_count; i++)
		for (size_t k = 0; k < profile->sections[i].variable_count; k++)
			if (!profile->sections[i].variables[k].used)
				report_unused(&profile->sections[i].variables[k], report);
	return GPUMAP_OK;
}

const char *sweep_value(const gpumap_section *sweep, size_t combination, size_t variable)
{
	for (size_t i = sweep->variable_count; i-- > variable + 1;)
		combination /= sweep->variables[i].count;
	return sweep->variables[variable].values[combination % sweep->variables[variable].count];
}

EXPORT size_t gpumap_sweep_combination_count(const gpumap_section *sweep)
{
	return sweep && sweep->kind == SECTION_SWEEP ? sweep->combinations : 0;
}

EXPORT int64_t gpumap_sweep_jobs(const gpumap_section *sweep)
{
	const struct setting *jobs;

	if (!gpumap_sweep_combination_count(sweep))
		return -1;
	jobs = section_setting(sweep, PKEY_SWEEP_jobs);
	return key_value(PKEY_SWEEP_jobs, jobs ? jobs->text : "").number;
}

EXPORT const char *gpumap_sweep_variable(const gpumap_section *sweep, size_t i)
{
	return gpumap_sweep_combination_count(sweep) && i < sweep->variable_count
		       ? sweep->variables[i].setting->name
		       : NULL;
}

EXPORT const char *gpumap_sweep_value(const gpumap_section *sweep, size_t combination, size_t i)
{
	return combination < gpumap_sweep_combination_count(sweep) && i < sweep->variable_count
		       ? sweep_value(sweep, combination, i)
		       : NULL;
}
