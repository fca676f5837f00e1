/* SPDX-License-Identifier: MIT */
/* Links names of sections after all files are read, and chooses the profile. */
#include "profile/profile.h"

#include "strbuf.h"
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

/* --- the choice ------------------------------------------------------------------- */

static size_t only_profile(const gpumap_profile *p)
{
	size_t found = NONE;

	for (size_t i = 0; i < p->section_count; i++) {
		if (p->sections[i].kind != SECTION_PROFILE)
			continue;
		if (found != NONE)
			return NONE;
		found = i;
	}
	return found;
}

/* The nearest profile, and a list of all. */
static char *suggest_chosen(const gpumap_profile *p, struct span name)
{
	enum { MAX_NAMED = 16 };
	const char *near = profile_nearest(p, SECTION_PROFILE, name);
	struct strbuf buf = {0};
	size_t count = 0;

	if (!near && span_has(name, ".ini") && !(p->file && span_is(name, p->file))) {
		strbuf_printf(&buf, "write --config %s for a file", QUOTE(name));
		return strbuf_take(&buf);
	}
	if (near)
		strbuf_printf(&buf, "did you mean %s? ", near);
	for (size_t i = 0; i < p->section_count; i++) {
		if (p->sections[i].kind != SECTION_PROFILE || count++ >= MAX_NAMED)
			continue;
		strbuf_printf(&buf, "%s%s", count == 1 ? "profiles: " : ", ", p->sections[i].name);
	}
	if (count > MAX_NAMED)
		strbuf_printf(&buf, " and %zu more", count - MAX_NAMED);
	if (!count)
		strbuf_printf(&buf, "write a [profile %s]", QUOTE(name));
	return strbuf_take(&buf);
}

static void choose(struct link *l, const char *name)
{
	gpumap_profile *p = l->profile;
	struct about about = {.origin = p->file};
	const char *wanted = name ? name : p->wanted;
	CLEANUP_FREE char *fix = NULL;

	if (!wanted) {
		p->chosen = only_profile(p);
		return;
	}
	p->chosen = profile_find(p, SECTION_PROFILE, span_of(wanted));
	if (p->chosen != NONE || !l->complete)
		return;
	if (!name)
		about = p->wanted_at;
	about.fix = fix = suggest_chosen(p, span_of(wanted));
	failed(l, fix ? report_fail(l->report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION, &about,
				    "no such profile: '%s'", QUOTE(span_of(wanted)))
		      : report_nomem(l->report));
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
	choose(&l, name);
	if (l.code != GPUMAP_OK)
		return l.code;
	profile_make_chain(profile);
	return GPUMAP_OK;
}
