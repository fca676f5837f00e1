/* SPDX-License-Identifier: MIT */
/* [env] and [unset]: the variables that gpumap sets itself, and those of the ranks. */
#include "profile/read_sections.h"

const char *env_section_refuses(struct span name)
{
	static const struct {
		const char *name, *fix;
	} refused[] = {
		{"CUDA_VISIBLE_DEVICES", "set gpus and share in [profile NAME]"},
		{"CUDA_DEVICE_ORDER", "set ids in [profile NAME]"},
		{"MASTER_ADDR", "set master_addr in [profile NAME]"},
		{"MASTER_PORT", "set master_port in [profile NAME]"},
		{"WORLD_SIZE", "set ranks and hosts in [profile NAME]"},
		{"LOCAL_WORLD_SIZE", "set ranks in [profile NAME]"},
	};
	static const char ranks[] =
		"RANK LOCAL_RANK GROUP_RANK NODE_RANK GROUP_WORLD_SIZE ROLE_RANK "
		"ROLE_WORLD_SIZE LOCAL_SIZE CROSS_RANK CROSS_SIZE PMI_RANK PMI_SIZE PMIX_RANK "
		"PMI_LOCAL_RANK PMI_LOCAL_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS PALS_RANKID "
		"PALS_LOCAL_RANKID PALS_NODEID SLURM_PROCID SLURM_LOCALID SLURM_NODEID "
		"SLURM_NTASKS SLURM_STEP_NUM_TASKS FLUX_TASK_RANK FLUX_TASK_LOCAL_ID "
		"FLUX_JOB_SIZE JSM_NAMESPACE_RANK JSM_NAMESPACE_SIZE JSM_NAMESPACE_LOCAL_RANK";

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (span_is(name, refused[i].name))
			return refused[i].fix;
	if (span_is_any(name, ranks) || span_starts_any(name, "OMPI_COMM_WORLD_ MV2_COMM_WORLD_"))
		return "leave it out: gpumap sets it for each rank";
	return NULL;
}

/* --- what is set at last ---------------------------------------------------------------- */

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

/* Parents come first, so that a child's setting is the last. */
void env_settle(const gpumap_profile *p, struct settled *s)
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

EXPORT size_t gpumap_profile_variable_count(const gpumap_profile *profile)
{
	return profile ? profile->settled.entry_count : 0;
}

static bool is_unset(const gpumap_profile *p, size_t setting)
{
	for (size_t i = 0; i < p->section_count; i++)
		if (setting >= p->sections[i].first &&
		    setting < p->sections[i].first + p->sections[i].count)
			return p->sections[i].kind == SECTION_UNSET;
	return false;
}

EXPORT const char *gpumap_profile_variable(const gpumap_profile *profile, size_t i,
					   enum gpumap_setting_attr attr)
{
	const struct setting *setting;
	bool unset;

	if (i >= gpumap_profile_variable_count(profile))
		return NULL;
	setting = &profile->settings[profile->settled.entries[i]];
	unset = is_unset(profile, profile->settled.entries[i]);
	return TEXT_AT(attr, [GPUMAP_SETTING_NAME] = setting->name,
		       [GPUMAP_SETTING_VALUE] = unset ? NULL : profile_value(profile, setting),
		       [GPUMAP_SETTING_TEXT] = unset ? NULL : setting->text,
		       [GPUMAP_SETTING_ORIGIN] = setting->origin);
}
