/* SPDX-License-Identifier: MIT */
/* Where an override applies: when_host, when_node, when_rank and when_local_rank. */
#include "profile/profile.h"
#include "text/hostlist.h"
#include "text/inifile.h"

/* Refuses hosts only for faults of the written text; gpumap_profile_check() reports those of a
 * variable's value. */
static int refuse_hosts(const struct setting *setting, int code, gpumap_report *report)
{
	if (code == GPUMAP_ENOMEM)
		return report_nomem(report);
	if (code == GPUMAP_ELIMIT)
		return report_fail(report, code, FINDING_LIMIT,
				   ABOUT_SETTING(setting, "name fewer, or by a pattern as in tux*"),
				   "more than %d hosts in the conditions of overrides",
				   HOSTLIST_MAX);
	if (expand_has_variable(span_of(setting->text)))
		return GPUMAP_OK;
	return report_fail(report, code, FINDING_BAD_VALUE,
			   ABOUT_SETTING(setting, "names have at most 253 characters"),
			   "%s cannot be '%s'", setting->name, QUOTE(span_of(setting->text)));
}

static const char *condition(const gpumap_section *section, enum profile_key_id key)
{
	const struct setting *when = section_setting(section, key);

	return when ? profile_value(section->profile, when) : "";
}

static const struct number_set *numbers(const gpumap_section *section, enum profile_key_id key,
					struct arena *arena)
{
	const char *text = condition(section, key);

	return *text ? number_set_parse(arena, span_of(text)) : NULL;
}

static int settle_hosts(const gpumap_section *section, struct settled *s, struct conditions *c,
			size_t *total, gpumap_report *report)
{
	const struct setting *when = section_setting(section, PKEY_OVERRIDE_when_host);
	const char *text = condition(section, PKEY_OVERRIDE_when_host);
	struct span wrong;
	struct host_set *set;
	int r;

	if (!*text)
		return GPUMAP_OK;
	set = arena_alloc(&s->arena, 1, sizeof(*set));
	c->hosts = set;
	/* Hundreds of them, each expanded up to the malformed part, would take minutes. */
	if (set && expand_has_variable(span_of(when->text)) &&
	    !hostlist_check(span_of(text), true, &wrong))
		return GPUMAP_OK;
	r = set ? host_set_parse(set, &s->arena, span_of(text)) : GPUMAP_ENOMEM;
	*total += set ? set->count + set->pattern_count : 0;
	if (r == GPUMAP_EINPUT) /* after so many */
		*total += HOSTLIST_MAX / 8;
	if (r != GPUMAP_ENOMEM && *total > HOSTLIST_MAX)
		r = GPUMAP_ELIMIT;
	return r == GPUMAP_OK ? r : refuse_hosts(when, r, report);
}

int override_settle(const gpumap_profile *p, struct settled *s, gpumap_report *report)
{
	size_t total = 0;
	int r = GPUMAP_OK;

	s->conditions = arena_alloc(&s->arena, p->section_count, sizeof(*s->conditions));
	for (size_t i = 0; s->conditions && r == GPUMAP_OK && i < p->section_count; i++) {
		const gpumap_section *section = &p->sections[i];
		struct conditions *c = &s->conditions[i];

		c->applies = override_applies(p, section);
		if (section->kind != SECTION_OVERRIDE)
			continue;
		c->nodes = numbers(section, PKEY_OVERRIDE_when_node, &s->arena);
		c->ranks = numbers(section, PKEY_OVERRIDE_when_rank, &s->arena);
		c->local_ranks = numbers(section, PKEY_OVERRIDE_when_local_rank, &s->arena);
		r = settle_hosts(section, s, c, &total, report);
	}
	return r;
}

static bool holds(const struct number_set *numbers, int64_t n)
{
	return !numbers || number_set_has(numbers, n);
}

/* There may be thousands of overrides and ranks, so the cheapest test comes first. */
static bool holds_at(const struct conditions *c, const struct place *place)
{
	return c->applies && holds(c->ranks, place->rank) && holds(c->nodes, place->node) &&
	       holds(c->local_ranks, place->local_rank) &&
	       (!c->hosts || host_set_has(c->hosts, place->host));
}

const struct setting *override_setting(const gpumap_profile *profile, enum profile_key_id key,
				       const struct place *place)
{
	for (size_t i = profile->settled.conditions ? profile->section_count : 0; i-- > 0;) {
		const struct setting *setting =
			holds_at(&profile->settled.conditions[i], place)
				? section_setting(&profile->sections[i], key)
				: NULL;

		if (setting)
			return setting;
	}
	return NULL;
}
