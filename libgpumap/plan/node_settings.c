/* SPDX-License-Identifier: MIT */
/* A profile's settings as plan_make takes them: for the whole plan and by host. */
#include "plan/job.h"
#include "plan/table.h"
#include "profile/profile.h"

static int set(struct plan_settings *settings, enum profile_key_id key,
	       const gpumap_profile *profile, const struct setting *from, gpumap_report *report)
{
	struct plan_setting *setting = SETTING_OF(settings, key);
	const char *value = profile_value(profile, from);
	int r = GPUMAP_OK;

	if (*value && plan_uses(key))
		r = plan_set(settings, key, value,
			     (struct plan_place){from->file, from->line, from->column}, report);
	else
		*setting = plan_setting(key, value, NULL);
	setting->origin = setting_giver(from->origin);
	setting->found = profile->found && from->line > 0;
	return r;
}

int node_settings_read(struct plan_settings *ret, const gpumap_profile *profile,
		       const struct place *place, gpumap_report *report)
{
	int r = GPUMAP_OK;

	*ret = plan_settings_default();
	EACH_PLAN_KEY (k) {
		const struct setting *from = profile_decides(profile, k, place);

		if (from && r == GPUMAP_OK)
			r = set(ret, k, profile, from, report);
	}
	return r;
}

/* The keys that overrides change only for some hosts. */
static void find_varying(const gpumap_profile *profile, bool varying[SETTING_END])
{
	for (size_t i = 0; i < profile->section_count; i++) {
		const gpumap_section *section = &profile->sections[i];

		if (!override_applies(profile, section))
			continue;
		for (enum profile_key_id k = SETTING_FIRST; k < SETTING_END; k++)
			if (plan_uses(k) && section_setting(section, k))
				varying[k] = true;
	}
}

/* A node of a trie over the settings that decide each key: hosts that end at one node are equal. */
struct node {
	const struct plan_settings *settings;
};

struct finder {
	struct arena scratch;
	struct table table;
	struct node root;
	bool varying[SETTING_END];
};

static struct node *step(struct finder *finder, const struct node *from, uintptr_t what)
{
	struct table_key key = {{(uintptr_t)from, what, 0, 0, 0}};

	return table_object(&finder->table, &finder->scratch, key, sizeof(struct node));
}

static int make_one(struct node_settings *ret, const gpumap_profile *profile,
		    const struct known_host *host, const struct place *place, gpumap_report *report)
{
	struct plan_settings *settings = arena_alloc(&ret->arena, 1, sizeof(*settings));
	int r;

	if (!settings)
		return report_nomem(report);
	r = node_settings_read(settings, profile, place, report);
	if (r == GPUMAP_OK && slots_are_ranks(host, settings))
		settings->ranks.number =
			host->slots < PLAN_MAX_RANKS ? host->slots : PLAN_MAX_RANKS;
	ret->of[place->node] = settings;
	return r;
}

static int settle(struct node_settings *ret, struct finder *finder, const gpumap_profile *profile,
		  const struct known_host *host, int64_t node, gpumap_report *report)
{
	struct place place = {host->name, node, -1, -1};
	struct node *at = &finder->root;
	int r = GPUMAP_OK;

	for (enum profile_key_id k = SETTING_FIRST; k < SETTING_END && at; k++)
		if (finder->varying[k])
			at = step(finder, at, (uintptr_t)profile_decides(profile, k, &place));
	/* An override can leave the number to the hostfile. */
	if (at && host->slots > 0 &&
	    (slots_are_ranks(host, &ret->whole) || finder->varying[PKEY_PROFILE_ranks] ||
	     finder->varying[PKEY_PROFILE_world_size]))
		at = step(finder, at, (uintptr_t)host->slots);
	if (!at)
		return report_nomem(report);
	if (at == &finder->root)
		return GPUMAP_OK;
	if (at->settings)
		ret->of[node] = at->settings;
	else
		r = make_one(ret, profile, host, &place, report);
	at->settings = ret->of[node];
	return r;
}

int node_settings_make(struct node_settings *ret, const gpumap_profile *profile,
		       const gpumap_hosts *hosts, gpumap_report *report)
{
	struct finder finder = {.root = {NULL}};
	int r;

	ret->of = arena_alloc(&ret->arena, hosts->count, sizeof(struct plan_settings *));
	if (!ret->of)
		return report_nomem(report);
	r = node_settings_read(&ret->whole, profile, NO_PLACE, report);
	find_varying(profile, finder.varying);
	for (size_t i = 0; i < hosts->count && r == GPUMAP_OK; i++)
		r = settle(ret, &finder, profile, &hosts->hosts[i], (int64_t)i, report);
	arena_free(&finder.scratch);
	return r;
}
