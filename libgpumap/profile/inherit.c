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
	const struct setting *inherit = section_setting(&p->sections[first], PKEY_PROFILE_inherit);
	struct about about = setting_about(inherit);
	struct strbuf names = {0};
	size_t i = first;
	int r;

	do {
		inherit = section_setting(&p->sections[i], PKEY_PROFILE_inherit);
		strbuf_printf(&names, "%s (%s), ", p->sections[i].name, inherit->origin);
		i = p->sections[i].parent;
	} while (i != first);
	about.fix = "take one of these inherit lines out";
	r = names.failed ? report_nomem(report)
			 : report_fail(report, GPUMAP_EINPUT, FINDING_CYCLE, &about,
				       "profiles inherit in a circle: %s%s", names.text,
				       p->sections[first].name);
	strbuf_free(&names);
	return r;
}

int profile_check_chain(const gpumap_profile *p, size_t first, gpumap_report *report)
{
	size_t depth = 0, smallest = first, i = first;
	struct about about;

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
	about = setting_about(section_setting(&p->sections[first], PKEY_PROFILE_inherit));
	about.fix = "inherit from a profile nearer to the root";
	return report_fail(report, GPUMAP_EINPUT, FINDING_LIMIT, &about,
			   "a chain of more than %d profiles", MAX_DEPTH);
}

void profile_make_chain(gpumap_profile *p)
{
	for (size_t i = p->chosen; i != NONE; i = p->sections[i].parent)
		p->chain[p->depth++] = i;
}

/* --- [env] and [unset] -------------------------------------------------------------- */

static void add_entry(const gpumap_profile *p, struct settled *s, size_t i)
{
	for (size_t k = 0; k < s->entry_count; k++)
		if (streq(p->settings[s->entries[k]].name, p->settings[i].name)) {
			s->entries[k] = i;
			return;
		}
	s->entries[s->entry_count++] = i;
}

/* The [env] or [unset] of the i-th profile in the chain; NULL: it has none. */
static const gpumap_section *of_chain(const gpumap_profile *p, size_t i, enum profile_section kind)
{
	size_t found = profile_find(p, kind, span_of(p->sections[p->chain[i]].name));

	return found == NONE ? NULL : &p->sections[found];
}

void profile_settle_environment(const gpumap_profile *p, struct settled *s)
{
	const gpumap_section *found[MAX_DEPTH * 2];
	size_t count = 0, room = 1;

	for (size_t i = p->depth; i-- > 0;) {
		found[count++] = of_chain(p, i, SECTION_UNSET);
		found[count++] = of_chain(p, i, SECTION_ENV);
	}
	for (size_t i = 0; i < count; i++)
		room += found[i] ? found[i]->count : 0;
	s->entries = arena_alloc(&s->arena, room, sizeof(*s->entries));
	for (size_t i = 0; s->entries && i < count; i++)
		for (size_t k = 0; found[i] && k < found[i]->count; k++)
			add_entry(p, s, found[i]->first + k);
}
