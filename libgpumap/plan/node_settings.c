/* SPDX-License-Identifier: MIT */
/* A profile's settings as plan_make takes them, for the whole plan and by host. */
#include "plan/job.h"
#include "plan/table.h"
#include "profile/profile.h"

static enum profile_key_id profile_id(size_t key)
{
	return setting_key(span_of(plan_key_name((enum plan_key)key)));
}

static int set(struct plan_settings *settings, const gpumap_profile *profile, size_t key,
	       const struct setting *setting, gpumap_report *report)
{
	const char *value = setting ? profile_value(profile, setting) : "";
	struct plan_place place = {NULL, 0, 0};

	if (setting)
		place = (struct plan_place){setting->file, setting->line, setting->column};
	return *value ? plan_set(settings, plan_key_name((enum plan_key)key), value, place, report)
		      : GPUMAP_OK;
}

/* The keys that overrides change for some hosts alone. */
static void find_varying(const gpumap_profile *profile, bool varying[PLAN_KEY_COUNT])
{
	for (size_t i = 0; i < profile->section_count; i++) {
		const gpumap_section *section = &profile->sections[i];

		if (!override_applies(profile, section))
			continue;
		for (size_t k = 0; k < PLAN_KEY_COUNT; k++)
			if (section_setting(section, profile_id(k)))
				varying[k] = true;
	}
}

/* A node of a trie over what decides each key: hosts that end at one are equal. */
struct node {
	const struct plan_settings *settings;
};

struct finder {
	struct arena scratch;
	struct table table;
	struct node root;
	bool varying[PLAN_KEY_COUNT];
};

static struct node *step(struct finder *finder, const struct node *from, uintptr_t what)
{
	struct table_key key = {{(uintptr_t)from, what, 0, 0, 0}};
	void **place = table_place(&finder->table, &finder->scratch, key);

	if (place && !*place)
		*place = arena_alloc(&finder->scratch, 1, sizeof(struct node));
	return place ? *place : NULL;
}

/* What a hostfile counts holds where the profile does not. */
static bool counts(const struct known_host *host, const struct plan_settings *settings)
{
	return host->slots > 0 && settings->ranks == PLAN_AUTO && settings->world_size == PLAN_AUTO;
}

static int make_one(struct node_settings *ret, const gpumap_profile *profile,
		    const struct known_host *host, const struct place *place, gpumap_report *report)
{
	struct plan_settings *settings = arena_alloc(&ret->arena, 1, sizeof(*settings));
	int r = GPUMAP_OK;

	if (!settings)
		return report_nomem(report);
	*settings = plan_settings_default();
	for (size_t k = 0; k < PLAN_KEY_COUNT && r == GPUMAP_OK; k++)
		r = set(settings, profile, k, profile_decides(profile, profile_id(k), place),
			report);
	if (r == GPUMAP_OK && counts(host, settings))
		settings->ranks =
			(int)(host->slots < PLAN_MAX_RANKS ? host->slots : PLAN_MAX_RANKS);
	ret->of[place->node] = settings;
	return r;
}

static int settle(struct node_settings *ret, struct finder *finder, const gpumap_profile *profile,
		  const struct known_host *host, int64_t node, gpumap_report *report)
{
	struct place place = {host->name, node, -1, -1};
	struct node *at = &finder->root;
	int r = GPUMAP_OK;

	for (size_t k = 0; k < PLAN_KEY_COUNT && at; k++)
		if (finder->varying[k])
			at = step(finder, at,
				  (uintptr_t)profile_decides(profile, profile_id(k), &place));
	/* An override can leave the counting to the hostfile. */
	if (at && host->slots > 0 &&
	    (counts(host, &ret->whole) || finder->varying[PLAN_KEY_RANKS] ||
	     finder->varying[PLAN_KEY_WORLD_SIZE]))
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
	static const struct place nowhere = {NULL, -1, -1, -1};
	struct finder finder = {.root = {NULL}};
	int r = GPUMAP_OK;

	ret->whole = plan_settings_default();
	ret->of = arena_alloc(&ret->arena, hosts->count, sizeof(struct plan_settings *));
	if (!ret->of)
		return report_nomem(report);
	for (size_t k = 0; k < PLAN_KEY_COUNT && r == GPUMAP_OK; k++)
		r = set(&ret->whole, profile, k, profile_decides(profile, profile_id(k), &nowhere),
			report);
	find_varying(profile, finder.varying);
	for (size_t i = 0; i < hosts->count && r == GPUMAP_OK; i++)
		r = settle(ret, &finder, profile, &hosts->hosts[i], (int64_t)i, report);
	arena_free(&finder.scratch);
	return r;
}
