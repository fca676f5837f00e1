/* SPDX-License-Identifier: MIT */
/* What a profile inherits: its parents, and the environment of all of them. */
#include "profile/profile.h"

#include "strbuf.h"

int profile_link_parents(gpumap_profile *p, bool complete, gpumap_report *report)
{
	int code = GPUMAP_OK;

	for (size_t i = 0; i < p->section_count; i++) {
		gpumap_section *section = &p->sections[i];
		const struct setting *inherit = section_setting(section, PKEY_PROFILE_inherit);

		if (section->kind != SECTION_PROFILE || !inherit || !*inherit->text)
			continue;
		section->parent = profile_find(p, SECTION_PROFILE, span_of(inherit->text));
		if (section->parent == NONE && complete &&
		    section_missing(p, SECTION_PROFILE, span_of(inherit->text), inherit, report))
			code = GPUMAP_EINPUT;
	}
	return code;
}

/* "a (x.ini:3), b (x.ini:9), a" */
static int report_cycle(const gpumap_profile *p, size_t first, gpumap_report *report)
{
	const struct setting *inherit;
	CLEANUP(strbuf_free) struct strbuf names = {0};
	size_t i = first;

	do {
		inherit = section_setting(&p->sections[i], PKEY_PROFILE_inherit);
		strbuf_printf(&names, "%s (%s), ", p->sections[i].name, inherit->origin);
		i = p->sections[i].parent;
	} while (i != first);
	inherit = section_setting(&p->sections[first], PKEY_PROFILE_inherit);
	return names.failed
		       ? report_nomem(report)
		       : report_fail(report, GPUMAP_EINPUT, FINDING_CYCLE,
				     ABOUT_SETTING(inherit, "take one of these inherit lines out"),
				     "profiles inherit in a circle: %s%s", names.text,
				     p->sections[first].name);
}

int profile_check_chain(const gpumap_profile *p, size_t first, gpumap_report *report)
{
	size_t depth = 0, smallest = first, i = first;
	const struct setting *inherit;

	for (; i != NONE && depth <= p->section_count; depth++) {
		i = p->sections[i].parent;
		if (i != NONE && i < smallest)
			smallest = i;
		if (i == first)
			return smallest == first ? report_cycle(p, first, report) : GPUMAP_OK;
	}
	if (i != NONE || depth != MAX_DEPTH + 1)
		return GPUMAP_OK; /* it leads into a cycle, or another profile has the longest chain
				   */
	inherit = section_setting(&p->sections[first], PKEY_PROFILE_inherit);
	return report_fail(report, GPUMAP_EINPUT, FINDING_LIMIT,
			   ABOUT_SETTING(inherit, "inherit from a profile nearer to the root"),
			   "a chain of more than %d profiles", MAX_DEPTH);
}

void profile_make_chain(gpumap_profile *p)
{
	for (size_t i = p->chosen; i != NONE; i = p->sections[i].parent)
		p->chain[p->depth++] = i;
}
