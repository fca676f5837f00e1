/* SPDX-License-Identifier: MIT */
/* Links names of sections after all files are read. */
#include "profile/profile.h"

#include "text/inifile.h"

struct link {
	gpumap_profile *profile;
	bool complete;
	gpumap_report *report;
	int code;
};

static void failed(struct link *l, int code)
{
	if (l->code == GPUMAP_OK)
		l->code = code;
}

static void missing(struct link *l, enum profile_section kind, struct span name,
		    const struct setting *setting)
{
	if (l->complete)
		failed(l, section_missing(l->profile, kind, name, setting, l->report));
}

/* --- the other sections --------------------------------------------------------- */

/* [env NAME] and [unset NAME] belong to [profile NAME]. */
static void link_environment(struct link *l, const gpumap_section *section)
{
	const gpumap_profile *p = l->profile;
	struct span name = span_of(section->name);
	size_t env = profile_find(p, SECTION_ENV, name);

	if (profile_find(p, SECTION_PROFILE, name) == NONE && l->complete)
		failed(l, report_fail(
				  l->report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
				  ABOUT_SECTION(section, PROFILE_SUGGEST(p, SECTION_PROFILE, name)),
				  "[%s %s] has no [profile %s]", section_name(section->kind),
				  QUOTE(name), QUOTE(name)));
	if (section->kind != SECTION_UNSET || env == NONE)
		return;
	for (size_t i = 0; i < section->count; i++)
		for (size_t k = 0; k < p->sections[env].count; k++) {
			const struct setting *unset = &p->settings[section->first + i];
			const struct setting *set = &p->settings[p->sections[env].first + k];

			if (streq(unset->name, set->name))
				failed(l,
				       report_fail(l->report, GPUMAP_EINPUT, FINDING_SYNTAX,
						   ABOUT(.origin = unset->file, .line = unset->line,
							 .column = 1, .fix = "keep one of the two"),
						   "%s is set at %s", unset->name, set->origin));
		}
}

static void link_names(struct link *l, const struct setting *setting)
{
	struct span rest = span_of(setting->text), item;

	while (inifile_item(&rest, &item))
		if (!span_is(item, "*") && profile_find(l->profile, SECTION_PROFILE, item) == NONE)
			missing(l, SECTION_PROFILE, item, setting);
}

static void link_override(struct link *l, const gpumap_section *section)
{
	const struct setting *names = section_setting(section, PKEY_OVERRIDE_profile);

	if (names && *names->text)
		link_names(l, names);
	failed(l, override_check(section, l->report));
}

static void link_program(struct link *l, const gpumap_section *section)
{
	const struct setting *program = unknown_program(l->profile, section);

	if (program)
		missing(l, SECTION_PROGRAM, span_of(program->text), program);
}

static void link_sweep(struct link *l, const gpumap_section *section)
{
	const struct setting *name = section_setting(section, PKEY_SWEEP_profile);

	if (name && *name->text)
		link_names(l, name);
	else
		failed(l, report_fail(l->report, GPUMAP_EINPUT, FINDING_SYNTAX,
				      ABOUT_SECTION(section, "write profile = NAME"),
				      "[sweep %s] does not name the profile that it runs",
				      section->name));
}

static void link_section(struct link *l, const gpumap_section *section)
{
	if (section->kind == SECTION_ENV || section->kind == SECTION_UNSET)
		link_environment(l, section);
	if (section->kind == SECTION_PROFILE || section->kind == SECTION_OVERRIDE)
		link_program(l, section);
	if (section->kind == SECTION_OVERRIDE)
		link_override(l, section);
	if (section->kind == SECTION_SWEEP)
		link_sweep(l, section);
}

int profile_link(gpumap_profile *profile, const char *name, bool complete, bool good,
		 gpumap_report *report)
{
	struct link l = {.profile = profile, .complete = complete, .report = report};
	int r;

	failed(&l, profile_link_parents(profile, complete, report));
	for (size_t i = 0; i < profile->section_count; i++) {
		if (profile->sections[i].kind == SECTION_PROFILE)
			failed(&l, profile_check_chain(profile, i, report));
		link_section(&l, &profile->sections[i]);
	}
	r = profile_read_sweeps(profile, good, report);
	if (r != GPUMAP_OK)
		failed(&l, r);
	failed(&l, profile_choose(profile, name, complete, report));
	if (l.code != GPUMAP_OK)
		return l.code;
	profile_make_chain(profile);
	return GPUMAP_OK;
}
