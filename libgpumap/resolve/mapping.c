/* SPDX-License-Identifier: MIT */
/* Functions that read a mapping. */
#include "resolve/mapping.h"

EXPORT void gpumap_mapping_free(gpumap_mapping *mapping)
{
	if (!mapping)
		return;
	arena_free(&mapping->arena);
	free(mapping);
}

EXPORT const char *gpumap_mapping_str(const gpumap_mapping *mapping,
				      enum gpumap_mapping_str_attr attr)
{
	if (!mapping)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_MAPPING_MODE] = mapping->mode,
		       [GPUMAP_MAPPING_ASSUMPTION] = mapping->assumption,
		       [GPUMAP_MAPPING_ENDED_TEXT] = mapping->ended_text,
		       [GPUMAP_MAPPING_ENDED_REASON] = mapping->ended_reason,
		       [GPUMAP_MAPPING_ENDED_RULE] = mapping->ended_rule);
}

EXPORT int64_t gpumap_mapping_int(const gpumap_mapping *mapping, enum gpumap_mapping_int_attr attr)
{
	if (!mapping)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_MAPPING_ANSWERED) = mapping->answered,
			 NUMBERED(GPUMAP_MAPPING_ENDED_ENTRY) = mapping->ended_entry);
}

EXPORT size_t gpumap_mapping_visible_count(const gpumap_mapping *mapping)
{
	return mapping ? mapping->visible_count : 0;
}

EXPORT const gpumap_entry *gpumap_mapping_visible(const gpumap_mapping *mapping, size_t logical)
{
	return mapping && logical < mapping->visible_count ? &mapping->visible[logical] : NULL;
}

EXPORT const gpumap_entry *gpumap_mapping_chosen(const gpumap_mapping *mapping)
{
	return mapping ? mapping->chosen : NULL;
}

EXPORT const gpumap_entry *gpumap_mapping_master(const gpumap_mapping *mapping)
{
	return mapping ? mapping->master : NULL;
}

EXPORT size_t gpumap_mapping_replica_count(const gpumap_mapping *mapping)
{
	return mapping ? mapping->replica_count : 0;
}

EXPORT const gpumap_entry *gpumap_mapping_replica(const gpumap_mapping *mapping, size_t i)
{
	return mapping && i < mapping->replica_count ? mapping->replicas[i] : NULL;
}

EXPORT int64_t gpumap_mapping_replica_samples(const gpumap_mapping *mapping, size_t i)
{
	return mapping && i < mapping->batch_count ? mapping->batch[i] : -1;
}

EXPORT int gpumap_mapping_logical(const gpumap_mapping *mapping, int physical)
{
	for (size_t i = 0; mapping && physical >= 0 && i < mapping->visible_count; i++) {
		const gpumap_entry *e = &mapping->visible[i];

		if (entry_decided(e) && e->candidates[0]->physical == physical)
			return (int)i;
	}
	return -1;
}

EXPORT const char *gpumap_entry_str(const gpumap_entry *entry, enum gpumap_entry_str_attr attr)
{
	const gpumap_device *d;

	if (!entry || !entry_decided(entry))
		return NULL;
	d = entry->candidates[0];
	return TEXT_AT(attr, [GPUMAP_ENTRY_UUID] = d->uuid, [GPUMAP_ENTRY_PCI] = d->gpu->pci,
		       [GPUMAP_ENTRY_NAME] = d->gpu->name);
}

EXPORT int64_t gpumap_entry_int(const gpumap_entry *entry, enum gpumap_entry_int_attr attr)
{
	if (!entry)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_ENTRY_LOGICAL) = entry->logical,
			 NUMBERED(GPUMAP_ENTRY_PHYSICAL) =
				 entry_decided(entry) ? entry->candidates[0]->physical : -1,
			 NUMBERED(GPUMAP_ENTRY_CERTAINTY) = entry->certainty,
			 NUMBERED(GPUMAP_ENTRY_MIG) =
				 entry_decided(entry) ? entry->candidates[0]->mig_position : -1);
}

EXPORT size_t gpumap_entry_candidate_count(const gpumap_entry *entry)
{
	return entry ? entry->count : 0;
}

EXPORT const gpumap_device *gpumap_entry_candidate(const gpumap_entry *entry, size_t i)
{
	return entry && i < entry->count ? entry->candidates[i] : NULL;
}

EXPORT const char *gpumap_certainty_name(enum gpumap_certainty certainty)
{
	static const char *const names[] = {"certain", "likely", "assumed", "undecidable"};

	return (size_t)certainty < ARRAY_SIZE(names) ? names[certainty] : "unknown";
}

EXPORT size_t gpumap_mapping_step_count(const gpumap_mapping *mapping)
{
	return mapping ? mapping->step_count : 0;
}

EXPORT const gpumap_step *gpumap_mapping_step(const gpumap_mapping *mapping, size_t i)
{
	return mapping && i < mapping->step_count ? &mapping->steps[i] : NULL;
}

EXPORT const char *gpumap_step_str(const gpumap_step *step, enum gpumap_step_str_attr attr)
{
	if (!step)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_STEP_RULE] = step->rule, [GPUMAP_STEP_TEXT] = step->text,
		       [GPUMAP_STEP_ORIGIN] = step->origin);
}

EXPORT size_t gpumap_step_loser_count(const gpumap_step *step)
{
	return step ? step->loser_count : 0;
}

EXPORT const char *gpumap_step_loser_source(const gpumap_step *step, size_t i)
{
	return step && i < step->loser_count ? step->losers[i].source : NULL;
}

EXPORT const char *gpumap_step_loser_value(const gpumap_step *step, size_t i)
{
	return step && i < step->loser_count ? step->losers[i].value : NULL;
}
