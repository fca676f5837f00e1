/* SPDX-License-Identifier: MIT */
/* What each local rank of a host is shown, and where gpumap_resolve says that its
 * program lands with that (rule R3). */
#include "plan/build.h"

#include <stdio.h>

#include "strbuf.h"

/* --- which devices --------------------------------------------------------------- */

static bool one_each(const struct builder *b)
{
	return b->input->settings->mode == PLAN_DDP || b->input->settings->mode == PLAN_SINGLE;
}

static struct spot find_spot(const struct builder *b, const struct layout *layout, size_t l)
{
	size_t n = layout->class->count, ranks = layout->plan->count;
	struct spot spot = {.lands = NOWHERE};

	if (!n)
		return spot;
	if (one_each(b) || ranks > n) {
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

/* --- what the program does with them ------------------------------------------------ */

static enum use_kind use_kind(const char *text, bool device)
{
	if (!text)
		return USE_NOTHING;
	return (device ? use_device(span_of(text)) : use_index(span_of(text))).kind;
}

/* Whether any index of the program is of this kind. */
static bool uses(const struct plan_settings *settings, enum use_kind kind)
{
	struct span rest = span_of(settings->device_ids ? settings->device_ids : ""), part;

	if (use_kind(settings->device, true) == kind ||
	    use_kind(settings->set_device, false) == kind)
		return true;
	while (span_split(&rest, ',', &part))
		if (use_index(span_trim(part)).kind == kind)
			return true;
	return false;
}

size_t layout_phase(const struct builder *b, const struct host_class *class, size_t local_size,
		    size_t first_rank)
{
	bool rank = uses(class->settings, USE_RANK), modulo = uses(class->settings, USE_MODULO);
	size_t base = class->count, block;

	if (!class->count || !local_size || (!rank && !modulo))
		return 0;
	if (class->settings->share == PLAN_SHARE_ISOLATE) {
		/* Blocks are of two sizes. */
		block = one_each(b) || local_size > class->count ? 1 : class->count / local_size;
		base = block == 1 && (one_each(b) || local_size >= class->count)
			       ? 1
			       : block * (block + 1);
	}
	if (!rank)
		return first_rank % base;
	/* An index past all devices fails, whichever it is. */
	return first_rank < class->count ? first_rank : class->count + first_rank % base;
}

static size_t index_of(struct use use, size_t local_rank, size_t rank, size_t shown)
{
	switch (use.kind) {
	case USE_LOCAL_RANK:
		return local_rank;
	case USE_RANK:
		return rank;
	case USE_MODULO:
		return shown ? rank % shown : 0;
	default:
		return (size_t)use.number;
	}
}

struct asking {
	struct builder *b;
	const struct layout *layout;
	size_t local_rank;
	gpumap_request *request;
	gpumap_report *report;
};

static int state(const struct asking *a, enum plan_key key, const char *text)
{
	const struct plan_place *place = &a->layout->class->settings->places[key];

	return gpumap_request_set(a->request, plan_key_name(key), text, place->origin, a->report);
}

static int state_index(const struct asking *a, enum plan_key key, struct use use)
{
	size_t rank = a->layout->host->first_rank + a->local_rank;
	size_t shown = a->layout->spots[a->local_rank].shown;
	char text[32];

	if (use.kind == USE_CPU)
		return state(a, key, "cpu");
	snprintf(text, sizeof(text), "%zu", index_of(use, a->local_rank, rank, shown));
	return state(a, key, text);
}

static int state_ids(const struct asking *a, const char *ids)
{
	size_t rank = a->layout->host->first_rank + a->local_rank;
	size_t shown = a->layout->spots[a->local_rank].shown;
	struct span rest = span_of(ids), part;
	struct strbuf buf = {0};
	int r;

	while (span_split(&rest, ',', &part))
		strbuf_printf(&buf, "%s%zu", buf.length ? "," : "",
			      index_of(use_index(span_trim(part)), a->local_rank, rank, shown));
	r = buf.failed ? GPUMAP_ENOMEM : state(a, PLAN_KEY_DEVICE_IDS, buf.text);
	strbuf_free(&buf);
	return r;
}

/* The child's environment is the weakest statement, as it will be (rule S3). */
static int state_environment(const struct asking *a)
{
	const struct plan_layout *plan = a->layout->plan;
	const char *envp[3] = {NULL, NULL, NULL};
	struct strbuf buf = {0};
	int r = GPUMAP_ENOMEM;

	strbuf_printf(&buf, "CUDA_VISIBLE_DEVICES=%s", plan->slots[a->local_rank].visible);
	envp[0] = buf.text;
	if (plan->device_order)
		envp[1] = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
	if (!buf.failed)
		r = gpumap_request_environ(a->request, envp, a->report);
	strbuf_free(&buf);
	return r;
}

static int state_use(const struct asking *a)
{
	const struct plan_settings *s = a->layout->class->settings;
	enum plan_mode mode = a->b->input->settings->mode;
	enum use_kind device = use_kind(s->device, true), current = use_kind(s->set_device, false);
	int r = state(a, PLAN_KEY_MODE, plan_word(PLAN_KEY_MODE, (int)mode));

	if (r == GPUMAP_OK && mode != PLAN_MP && current != USE_NOTHING)
		r = state_index(a, PLAN_KEY_SET_DEVICE, use_index(span_of(s->set_device)));
	if (r == GPUMAP_OK && mode != PLAN_MP && device != USE_NOTHING && device != USE_CURRENT)
		r = state_index(a, PLAN_KEY_DEVICE, use_device(span_of(s->device)));
	if (r == GPUMAP_OK && mode != PLAN_SINGLE && s->device_ids && *s->device_ids)
		r = state_ids(a, s->device_ids);
	return r;
}

/* --- the answer ------------------------------------------------------------------------ */

static int keep_mapping(struct builder *b, gpumap_mapping *mapping)
{
	struct plan *plan = b->plan;

	if (plan->mapping_count == b->mapping_room) {
		size_t room = b->mapping_room ? b->mapping_room * 2 : 8;
		gpumap_mapping **grown = arena_alloc(b->arena, room, sizeof(*grown));

		if (!grown)
			return plan_nomem(b);
		if (plan->mapping_count)
			memcpy(grown, plan->mappings, plan->mapping_count * sizeof(*grown));
		plan->mappings = grown;
		b->mapping_room = room;
	}
	plan->mappings[plan->mapping_count++] = mapping;
	return GPUMAP_OK;
}

static void find_landing(const struct builder *b, struct layout *layout, size_t l)
{
	const struct host_class *class = layout->class;
	struct plan_slot *slot = &layout->plan->slots[l];
	const gpumap_entry *entry = b->input->settings->mode == PLAN_DP
					    ? gpumap_mapping_master(slot->mapping)
					    : gpumap_mapping_chosen(slot->mapping);
	size_t position = layout_position(layout, l, entry);

	if (layout->unknown_use || !slot->mapping->answered || position == NOWHERE)
		return;
	layout->spots[l].lands = position;
	slot->lands = &class->copies[position];
	slot->logical = entry->logical;
}

size_t layout_position(const struct layout *layout, size_t l, const gpumap_entry *entry)
{
	const struct host_class *class = layout->class;
	const struct spot *spot = &layout->spots[l];
	const gpumap_device *d;
	size_t guess;

	if (!entry || !entry_decided(entry))
		return NOWHERE;
	d = entry->candidates[0];
	guess = (spot->first + (size_t)entry->logical) % class->count;
	/* CUDA may hide MIG instances, and later ones move up. */
	for (size_t i = 0; i < class->count; i++) {
		const gpumap_device *own = class->devices[(guess + i) % class->count];

		if (own->physical == d->physical && own->mig_position == d->mig_position)
			return (guess + i) % class->count;
	}
	return NOWHERE;
}

static int ask(struct builder *b, struct layout *layout, size_t l)
{
	struct asking a = {.b = b, .layout = layout, .local_rank = l};
	gpumap_mapping *mapping = NULL;
	int r = gpumap_report_new(&a.report);

	if (r == GPUMAP_OK)
		r = gpumap_request_new(&a.request);
	if (r == GPUMAP_OK)
		r = state_environment(&a);
	if (r == GPUMAP_OK)
		r = state_use(&a);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, a.request, layout->class->host->inventory, a.report);
	if (r == GPUMAP_OK) {
		r = keep_mapping(b, mapping);
		if (r != GPUMAP_OK)
			gpumap_mapping_free(mapping);
	}
	if (r == GPUMAP_OK) {
		layout->plan->slots[l].mapping = mapping;
		find_landing(b, layout, l);
		layout_carry(b, layout, l, a.report);
	}
	gpumap_request_free(a.request);
	gpumap_report_free(a.report);
	return r == GPUMAP_ENOMEM ? plan_nomem(b) : r;
}

/* Nothing tells which of several devices such a program takes. */
static bool is_unknown(const struct builder *b, const struct host_class *class)
{
	return one_each(b) && !class->settings->device &&
	       use_kind(class->settings->set_device, false) == USE_NOTHING;
}

int layout_fill(struct builder *b, struct layout *layout)
{
	const struct host_class *class = layout->class;
	struct plan_layout *plan = layout->plan;
	int r = GPUMAP_OK;

	plan->slots = arena_alloc(b->arena, plan->count, sizeof(*plan->slots));
	layout->spots = arena_alloc(&b->passing, plan->count, sizeof(*layout->spots));
	if (!plan->slots || !layout->spots)
		return plan_nomem(b);
	plan->device_order = class->count && class->by_number ? "PCI_BUS_ID" : NULL;
	layout->unknown_use = is_unknown(b, class);
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
