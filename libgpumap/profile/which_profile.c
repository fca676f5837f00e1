/* SPDX-License-Identifier: MIT */
/* Which profile is used: the one named, or the default of its files, or the only one. */
#include "profile/profile.h"

#include "strbuf.h"

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

int profile_choose(gpumap_profile *p, const char *name, bool complete, gpumap_report *report)
{
	struct about about = {.origin = p->file};
	const char *wanted = name ? name : p->wanted;
	CLEANUP_FREE char *fix = NULL;

	if (!wanted) {
		p->chosen = only_profile(p);
		return GPUMAP_OK;
	}
	p->chosen = profile_find(p, SECTION_PROFILE, span_of(wanted));
	if (p->chosen != NONE || !complete)
		return GPUMAP_OK;
	if (!name)
		about = p->wanted_at;
	about.fix = fix = suggest_chosen(p, span_of(wanted));
	return fix ? report_fail(report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION, &about,
				 "no such profile: '%s'", QUOTE(span_of(wanted)))
		   : report_nomem(report);
}
