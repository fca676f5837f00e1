/* SPDX-License-Identifier: MIT */
/* What each local rank of a host is shown, and where gpumap_resolve says that its
 * program lands with that (rule R3). */
#include "plan/build.h"

#include <stdio.h>

#include "strbuf.h"

/* --- which devices --------------------------------------------------------------- */

static struct spot find_spot(const struct builder *b, const struct layout *layout, size_t l)
{
	size_t n = layout->class->count, ranks = layout->plan->count;
	struct spot spot = {.lands = NOWHERE};

	if (!n)
		return spot;
	if (plan_one_each(b, layout->class->settings) || ranks > n) {
		spot.own = l % n;
		spot.own_count = 1;
	} else {
		spot.own = l * n / ranks;
		spot.own_count = (l + 1) * n / ranks - spot.own;
	}
	spot.shown = n;
	if (layout->class->settings->share != PLAN_SHARE_LIST)
		spot.first = spot.own;
	if (layout->class->settings->share == PLAN_SHARE_ISOLATE)
		spot.shown = spot.own_count;
	return spot;
}

static const char *list_text(struct builder *b, const struct host_class *class,
			     const struct spot *spot)
{
	struct strbuf buf = {0};
	const char *text;

	for (size_t i = 0; i < spot->shown; i++) {
		strbuf_puts(&buf, i ? "," : "");
		strbuf_puts(&buf, class->names[(spot->first + i) % class->count]);
	}
	b->arena->failed = b->arena->failed || buf.failed;
	text = buf.failed ? NULL : arena_strdup(b->arena, buf.text ? buf.text : "");
	strbuf_free(&buf);
	return text;
}

/* --- the answer ------------------------------------------------------------------------ */

/* What the program sets by itself can name a GPU that the plan does not have. */
static void tell_outside(struct builder *b, const struct layout *layout, size_t l,
			 const gpumap_entry *entry)
{
	plan_tell(b, FINDING_LANDS_OUTSIDE,
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
	struct plan_slot *slot = &layout->plan->slots[l];
	const gpumap_entry *entry = b->input->settings->mode == PLAN_DP
					    ? gpumap_mapping_master(mapping)
					    : gpumap_mapping_chosen(mapping);
	size_t position = layout_position(layout, l, entry);

	if (layout->unknown_use || !mapping->answered)
		return;
	if (position == NOWHERE) {
		if (entry && entry_decided(entry) && entry->candidates[0]->physical >= 0)
			tell_outside(b, layout, l, entry);
		return;
	}
	layout->spots[l].lands = position;
	slot->lands = &class->copies[position];
	slot->logical = entry->logical;
}

static int ask(struct builder *b, struct layout *layout, size_t l)
{
	gpumap_report *report = NULL;
	gpumap_mapping *mapping = NULL;
	int r = gpumap_report_new(&report);

	if (r == GPUMAP_OK)
		r = layout_ask(&mapping, b, layout, l, report);
	if (r == GPUMAP_OK) {
		find_landing(b, layout, l, mapping);
		layout_land(b, layout, l, mapping);
		layout_carry(b, layout, l, mapping, report);
	}
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	return r == GPUMAP_ENOMEM ? plan_nomem(b) : r;
}

int layout_fill(struct builder *b, struct layout *layout)
{
	const struct host_class *class = layout->class;
	struct plan_layout *plan = layout->plan;
	int r = GPUMAP_OK;

	plan->slots = arena_alloc(b->arena, plan->count, sizeof(*plan->slots));
	layout->spots = arena_alloc(&b->passing, plan->count, sizeof(*layout->spots));
	layout->crowd.first =
		arena_alloc(&b->passing, class->count + 1, sizeof(*layout->crowd.first));
	layout->crowd.count =
		arena_alloc(&b->passing, class->count + 1, sizeof(*layout->crowd.count));
	if (!plan->slots || !layout->spots || !layout->crowd.first || !layout->crowd.count)
		return plan_nomem(b);
	plan->gpus = class->gpus;
	plan->gpu_count = class->gpus ? class->host->inventory->count : 0;
	plan->device_order = class->count && class->by_number ? "PCI_BUS_ID" : NULL;
	layout->unknown_use = layout_use_unknown(b, class);
	for (size_t l = 0; r == GPUMAP_OK && l < plan->count; l++) {
		struct plan_slot *slot = &plan->slots[l];
		struct spot *spot = &layout->spots[l];

		*spot = find_spot(b, layout, l);
		slot->logical = -1;
		slot->visible = "";
		if (!class->count)
			continue;
		slot->devices = &class->copies[spot->own];
		slot->device_count = spot->own_count;
		if (class->settings->share != PLAN_SHARE_LIST || !layout->list)
			layout->list = list_text(b, class, spot);
		slot->visible = layout->list;
		r = slot->visible ? ask(b, layout, l) : plan_nomem(b);
	}
	return r;
}
