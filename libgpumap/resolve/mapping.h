/* SPDX-License-Identifier: MIT */
/* The result of gpumap_resolve(). Its arena holds everything in it. */
#ifndef GM_MAPPING_H
#define GM_MAPPING_H

#include "gpumap.h"

#include "arena.h"
#include "inventory/inventory.h"

struct gpumap_entry {
	int logical;
	enum gpumap_certainty certainty;
	const gpumap_device **candidates; /* one candidate: it is decided */
	size_t count;
};

struct loser {
	const char *source, *value;
};

struct gpumap_step {
	const char *rule, *text, *origin;
	struct loser *losers;
	size_t loser_count;
};

/* One view of rule L1, outermost first, for pictures. */
struct seen_view {
	const char *label;
	const gpumap_device **devices;
	size_t count;
};

enum { MAX_VIEWS = 8 };

struct gpumap_mapping {
	struct arena arena;
	const char *mode, *assumption;
	const char *ended_text, *ended_reason, *ended_rule;
	int ended_entry;
	bool answered;
	gpumap_entry *visible;
	size_t visible_count;
	const gpumap_entry *chosen, *master;
	const gpumap_entry **replicas;
	size_t replica_count;
	int64_t *batch;
	size_t batch_count;
	gpumap_step *steps;
	size_t step_count, step_room;
	struct seen_view views[MAX_VIEWS];
	size_t view_count;
};

static inline bool entry_decided(const gpumap_entry *entry)
{
	return entry->certainty != GPUMAP_CERTAINTY_UNDECIDABLE;
}

/* Whether an entry is undecided because its candidates are compute instances of one GPU instance
 * (rule V9), and not because CUDA's order is not known (rule N4). */
static inline bool entry_shares_instance(const gpumap_entry *entry)
{
	return !entry_decided(entry) && entry->candidates[0] != entry->candidates[0]->gpu;
}

#endif
