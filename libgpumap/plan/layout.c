/* SPDX-License-Identifier: MIT */
/* Where the program of each local rank lands, by gpumap_resolve (rule R3). */
#include "plan/build.h"

/* The program's own settings can name a GPU that the plan does not have. */
static void report_outside(struct builder *b, const struct layout *layout, size_t l,
			   const gpumap_entry *entry)
{
	plan_report(
		b, FINDING_LANDS_OUTSIDE,
		ABOUT(.rule = "R3", .fix = "select that GPU with " SETTING(
					    "gpus") ", or let the program keep the list"),
		"rank %zu, local rank %zu of %s, lands on %s, which the plan does not have: the "
		"program sets its list itself%s",
		layout->host->first_rank + l, l, layout->host->name,
		DEVICE_LABEL(entry->candidates[0]), MORE_HOSTS(layout->host_count));
}

static void find_landing(struct builder *b, struct layout *layout, size_t l,
			 const gpumap_mapping *mapping)
{
	const struct host_class *class = layout->class;
	struct local_rank *local = &layout->plan->ranks[l];
	const gpumap_entry *entry = b->input->settings->mode.word == PLAN_DP
					    ? gpumap_mapping_master(mapping)
					    : gpumap_mapping_chosen(mapping);
	size_t position = layout_position(layout, l, entry);

	if (layout->unknown_use || !mapping->answered)
		return;
	if (position == NOWHERE) {
		if (entry && entry_decided(entry) && entry->candidates[0]->physical >= 0)
			report_outside(b, layout, l, entry);
		return;
	}
	layout->placements[l].lands = position;
	local->lands = &class->copies[position];
	local->logical = entry->logical;
}

static int ask(struct builder *b, struct layout *layout, size_t l)
{
	OWNED(report) *report = NULL;
	OWNED(mapping) *mapping = NULL;
	int r = gpumap_report_new(&report);

	if (r == GPUMAP_OK)
		r = layout_ask(&mapping, b, layout, l, report);
	if (report_lacks_memory(report))
		r = GPUMAP_ENOMEM;
	if (r == GPUMAP_OK) {
		find_landing(b, layout, l, mapping);
		layout_land(b, layout, l, mapping);
		layout_carry(b, layout, l, mapping, report);
		layout->plain = layout->plain && mapping->answered &&
				(layout->unknown_use || layout->plan->ranks[l].lands);
	}
	return r == GPUMAP_ENOMEM ? plan_nomem(b) : r;
}

/* Takes a rank's answer from an equal layout. */
static void copy_answer(struct builder *b, struct layout *layout, size_t l,
			const struct layout *like)
{
	const struct local_rank *from = &like->plan->ranks[l];
	struct local_rank *local = &layout->plan->ranks[l];
	const struct host_class *class = layout->class;

	local->logical = from->logical;
	if (from->lands) {
		layout->placements[l].lands = (size_t)(from->lands - like->class->copies);
		local->lands = &class->copies[layout->placements[l].lands];
	}
	layout_land(b, layout, l, NULL);
}

static int fill_rank(struct builder *b, struct layout *layout, size_t l, const struct layout *like)
{
	const struct host_class *class = layout->class;
	struct local_rank *local = &layout->plan->ranks[l];
	struct placement *placement = &layout->placements[l];

	*placement = share_devices(b, layout, l);
	local->logical = -1;
	local->visible = "";
	if (!class->count)
		return GPUMAP_OK;
	local->devices = &class->copies[placement->own];
	local->device_count = placement->own_count;
	if (like && class->by_number)
		layout->list = like->plan->ranks[l].visible;
	else if (class->settings->share.word != PLAN_SHARE_LIST || !layout->list)
		layout->list = share_list(b, class, placement);
	local->visible = layout->list;
	if (!local->visible)
		return plan_nomem(b);
	if (!like)
		return ask(b, layout, l);
	copy_answer(b, layout, l, like);
	return GPUMAP_OK;
}

int layout_fill(struct builder *b, struct layout *layout)
{
	const struct host_class *class = layout->class;
	struct plan_layout *plan = layout->plan;
	const struct layout *like = layout_like(b, layout);
	int r = GPUMAP_OK;

	plan->ranks = arena_alloc(b->arena, plan->count, sizeof(*plan->ranks));
	layout->placements = arena_alloc(&b->temp, plan->count, sizeof(*layout->placements));
	layout->load.first = arena_alloc(&b->temp, class->count + 1, sizeof(*layout->load.first));
	layout->load.count = arena_alloc(&b->temp, class->count + 1, sizeof(*layout->load.count));
	if (!plan->ranks || !layout->placements || !layout->load.first || !layout->load.count)
		return plan_nomem(b);
	plan->gpus = class->gpus;
	plan->gpu_count = class->gpus ? class->host->inventory->count : 0;
	plan->device_order = class->device_order;
	layout->unknown_use = layout_use_unknown(b, class);
	layout->plain = class->count > 0;
	for (size_t l = 0; r == GPUMAP_OK && l < plan->count; l++)
		r = fill_rank(b, layout, l, like);
	return r == GPUMAP_OK && !like ? layout_remember(b, layout) : r;
}
