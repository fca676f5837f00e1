/* SPDX-License-Identifier: MIT */
/* See wishes.h. */
#include "lease/wishes.h"

#include <errno.h>

#include "inventory/inventory.h"
#include "lease/note.h"
#include "lease/units.h"
#include "report/report.h"

void wishes_free(struct wishes *wishes)
{
	lease_queue_free(wishes->tickets, wishes->count);
	arena_free(&wishes->arena);
}

void wishes_drop(struct wishes *wishes, size_t i, size_t gpus)
{
	memset(wishes->list[i].usable, 0, gpus * sizeof(*wishes->list[i].usable));
	wishes->list[i].count = 0;
}

/* The GPU of a name in a ticket, which is that of its file; the count of GPUs: there is none. */
static size_t find_named(const gpumap_inventory *inventory, struct span word)
{
	size_t g = 0;

	while (g < inventory->count && !span_is(word, LEASE_NAME(&inventory->gpus[g])))
		g++;
	return g;
}

/* MIG may have been enabled since the ticket was written. Returns how many there are. */
static size_t mark_named(bool *ret, const gpumap_inventory *inventory, const char *names)
{
	struct span rest = span_of(names), word;
	size_t marked = 0;

	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = !*names;
	while (span_split(&rest, ' ', &word)) {
		size_t g = find_named(inventory, word);

		if (g < inventory->count)
			ret[g] = true;
	}
	for (size_t g = 0; g < inventory->count; g++) {
		ret[g] = ret[g] && unit_can_be_leased(&inventory->gpus[g]);
		marked += ret[g];
	}
	return marked;
}

/* Puts the named GPUs first. Returns how many there are. */
static size_t order_named(size_t *order, const gpumap_inventory *inventory, const char *names)
{
	struct span rest = span_of(names), word;
	size_t preferred = 0;

	while (span_split(&rest, ' ', &word))
		preferred += order_prefer(order, preferred, find_named(inventory, word),
					  inventory->count);
	return preferred;
}

/* Whether a job can have the GPU, or a slot of it, as far as leases are concerned. */
static bool has_room(const struct lease_terms *terms, const struct lease_sight *sight)
{
	if (sight->lease == LEASE_SHARED)
		return load_room(&sight->load, terms->slots) > 0;
	return sight->lease == LEASE_FREE;
}

/* By the terms of the job that waits, which may call another GPU free than this one does. */
static void mark_free(bool *ret, const struct lease_terms *terms, const gpumap_inventory *inventory,
		      const struct lease_sight *sights)
{
	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = has_room(terms, &sights[g]) &&
			 lease_state_of(terms, &inventory->gpus[g],
					sights[g].lease == LEASE_SHARED) == LEASE_FREE;
}

static int look(struct wishes *w, const struct lease_folder *folder,
		const struct lease_terms *terms, const gpumap_inventory *inventory)
{
	int r = lease_look(w->sights, folder, inventory);

	for (size_t g = 0; g < inventory->count; g++) {
		w->sights[g].use = lease_state_of(terms, &inventory->gpus[g],
						  w->sights[g].lease == LEASE_SHARED);
		w->loads[g] = w->sights[g].load;
	}
	return r;
}

static bool make_room(struct wishes *w, size_t gpus)
{
	struct arena *arena = &w->arena;

	w->list = arena_alloc(arena, w->count + 1, sizeof(*w->list));
	w->chosen.passed = arena_alloc(arena, w->count, sizeof(*w->chosen.passed));
	w->chosen.promised = arena_alloc(arena, gpus, sizeof(*w->chosen.promised));
	w->ends = arena_alloc(arena, gpus, sizeof(*w->ends));
	w->sights = arena_alloc(arena, gpus, sizeof(*w->sights));
	w->loads = arena_alloc(arena, gpus, sizeof(*w->loads));
	return !arena->failed;
}

static int not_read(const struct lease_folder *folder, int r, gpumap_report *report)
{
	return r == GPUMAP_EFILE
		       ? report_fail(report, r, FINDING_FILE_ACCESS, ABOUT(.origin = folder->path),
				     "the queue cannot be read: %s", strerror(errno))
		       : report_nomem(report);
}

/* Reads what is in the folder. */
static int read_folder(struct wishes *w, const struct lease_folder *folder, uint64_t before,
		       const struct lease_terms *terms, const gpumap_inventory *inventory,
		       gpumap_report *report)
{
	int r = lease_queue_read(&w->tickets, &w->count, folder, before);

	if (r == GPUMAP_OK)
		r = make_room(w, inventory->count) ? look(w, folder, terms, inventory)
						   : GPUMAP_ENOMEM;
	return r == GPUMAP_OK ? r : not_read(folder, r, report);
}

/* When the jobs of the tickets can be served, if it matters: this one's lease has an end. */
static int time_promises(struct wishes *w, const struct lease_folder *folder, int64_t for_ms,
			 const gpumap_inventory *inventory, gpumap_report *report)
{
	int r = GPUMAP_OK;

	w->list[w->count].end = for_ms ? lease_note_now() + for_ms + BACKFILL_MARGIN_MS : INT64_MAX;
	if (!for_ms || !w->count)
		return GPUMAP_OK;
	r = backfill_ends(w->ends, folder, inventory, w->sights);
	for (size_t i = 0; r == GPUMAP_OK && i < w->count; i++)
		w->list[i].ready =
			backfill_ready(&w->list[i], w->sights, w->ends, inventory->count);
	return r == GPUMAP_OK ? r : not_read(folder, r, report);
}

int wishes_read(struct wishes *ret, const struct lease_folder *folder, uint64_t before,
		const gpumap_claim *claim, const gpumap_inventory *inventory, gpumap_report *report)
{
	const size_t gpus = inventory->count;
	int r = read_folder(ret, folder, before, &claim->terms, inventory, report);

	for (size_t i = 0; r == GPUMAP_OK && i <= ret->count; i++) {
		const struct lease_ticket *ticket = i < ret->count ? &ret->tickets[i] : NULL;
		const struct lease_terms *terms = ticket ? &ticket->terms : &claim->terms;
		bool *usable = arena_alloc(&ret->arena, gpus, sizeof(*usable));
		bool *free_gpus = arena_alloc(&ret->arena, gpus, sizeof(*free_gpus));
		size_t *order = arena_alloc(&ret->arena, gpus, sizeof(*order));
		size_t preferred = 0, count = claim->count;

		if (ret->arena.failed)
			return report_nomem(report);
		for (size_t g = 0; g < gpus; g++)
			order[g] = g;
		if (ticket) {
			/* Who wants more than there is, cannot be served, and is promised nothing.
			 */
			count = mark_named(usable, inventory, ticket->from) < ticket->count
					? 0
					: ticket->count;
			preferred = order_named(order, inventory, ticket->prefer);
		} else {
			r = claim_usable(usable, claim, inventory, report);
			for (size_t g = 0; g < gpus; g++)
				usable[g] =
					usable[g] && lease_is_inside(folder, &inventory->gpus[g]);
			if (r == GPUMAP_OK)
				r = claim_order(order, &preferred, claim, inventory, report);
		}
		mark_free(free_gpus, terms, inventory, ret->sights);
		ret->list[i] = (struct lease_wish){
			.count = count,
			.usable = usable,
			.free_gpus = free_gpus,
			.order = order,
			.preferred = preferred,
			.near = terms->near,
			.firm = ticket && lease_passed_enough(ticket),
			.slots = terms->slots,
		};
	}
	return r == GPUMAP_OK ? time_promises(ret, folder, claim->for_ms, inventory, report) : r;
}

void wishes_ask_for_all(struct wishes *wishes, gpumap_claim *claim, size_t gpus, size_t most)
{
	struct lease_wish *own = &wishes->list[wishes->count];
	size_t n = 0;

	for (size_t g = 0; g < gpus; g++)
		n += own->usable[g] && own->free_gpus[g] && n < most;
	claim->count = own->count = n ? n : 1;
}

bool wishes_ask_for_fewer(struct wishes *wishes, gpumap_claim *claim)
{
	struct lease_wish *own = &wishes->list[wishes->count];

	if (!claim->all || own->count == 1)
		return false;
	claim->count = --own->count;
	return true;
}
