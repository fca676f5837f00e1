/* SPDX-License-Identifier: MIT */
/* [override NAME]: which profiles it changes, on which hosts and ranks it applies, and which keys
 * its conditions allow. */
#include "profile/profile.h"

#include "text/hostlist.h"
#include "text/inifile.h"

static bool in_chain(const gpumap_profile *profile, struct span name)
{
	for (size_t i = 0; i < profile->depth; i++)
		if (span_is(name, profile->sections[profile->chain[i]].name))
			return true;
	return span_is(name, "*");
}

bool override_applies(const gpumap_profile *profile, const gpumap_section *section)
{
	const struct setting *names;
	struct span rest, item;

	if (section->kind != SECTION_OVERRIDE || profile->chosen == NONE)
		return false;
	names = section_setting(section, PKEY_OVERRIDE_profile);
	rest = span_of(names ? names->text : "");
	while (inifile_item(&rest, &item))
		if (in_chain(profile, item))
			return true;
	return false;
}

/* --- the keys ------------------------------------------------------------------- */

static bool has_condition(const gpumap_section *section, enum profile_key_id key)
{
	const struct setting *setting = section_setting(section, key);

	return setting && *setting->text;
}

/* Whether a condition is finer than the key's scope. Returns what it tests. */
static const char *too_fine(const gpumap_section *section, enum value_scope scope)
{
	static const enum profile_key_id finest_first[] = {
		PKEY_OVERRIDE_when_rank, PKEY_OVERRIDE_when_local_rank, PKEY_OVERRIDE_when_node,
		PKEY_OVERRIDE_when_host};
	size_t end = scope == SCOPE_RANK ? 0 : scope == SCOPE_NODE ? 2 : 4;

	for (size_t i = 0; i < end; i++)
		if (has_condition(section, finest_first[i]))
			return profile_key(finest_first[i])->key.name;
	return NULL;
}

int override_check(const gpumap_section *section, gpumap_report *report)
{
	const struct setting *names = section_setting(section, PKEY_OVERRIDE_profile);
	int code = GPUMAP_OK;

	if (!names || !*names->text)
		code = report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OVERRIDE,
			ABOUT_SECTION(section, "write profile = NAME, or * for every one"),
			"[override %s] does not name the profile that it changes", section->name);
	for (size_t i = 0; i < section->count; i++) {
		const struct setting *setting = &section->profile->settings[section->first + i];
		const char *condition;

		if (!setting->key || setting->key->in != SECTION_PROFILE)
			continue;
		condition = too_fine(section, setting->key->scope);
		if (!condition)
			continue;
		code = report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OVERRIDE,
			ABOUT_SETTING(setting, setting->key->scope == SCOPE_JOB
						       ? "it is the same for the whole job"
						       : "it is the same for all ranks of a "
							 "host"),
			"%s cannot depend on %s", setting->name, condition);
	}
	return code;
}

/* --- the conditions --------------------------------------------------------------- */

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
