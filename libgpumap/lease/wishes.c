/* SPDX-License-Identifier: MIT */
#include "lease/wishes.h"

#include <errno.h>

#include "inventory/inventory.h"
#include "report.h"

void wishes_free(struct wishes *wishes)
{
	lease_queue_free(wishes->tickets, wishes->count);
	free(wishes->list);
	free(wishes->sights);
	free(wishes->orders);
	free(wishes->marks);
	free(wishes->passed);
}

/* The GPU of a name in a ticket, which is that of its file; the count of GPUs: there is none. */
static size_t find_named(const gpumap_inventory *inventory, struct span word)
{
	char name[LEASE_NAME];
	size_t g = 0;

	for (; g < inventory->count; g++) {
		lease_name(name, &inventory->gpus[g]);
		if (span_is(word, name))
			break;
	}
	return g;
}

static void mark_named(bool *ret, const gpumap_inventory *inventory, const char *names)
{
	struct span rest = span_of(names), word;

	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = !*names;
	while (span_split(&rest, ' ', &word)) {
		size_t g = find_named(inventory, word);

		if (g < inventory->count)
			ret[g] = true;
	}
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

/* By the terms of the job that waits, which may call another GPU free than this one does. */
static void mark_free(bool *ret, const struct lease_terms *terms, const gpumap_inventory *inventory,
		      const struct lease_sight *sights)
{
	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = sights[g].lease == LEASE_FREE &&
			 lease_state_of(terms, &inventory->gpus[g]) == LEASE_FREE;
}

static void look(struct lease_sight *ret, const struct lease_folder *folder,
		 const struct lease_terms *terms, const gpumap_inventory *inventory)
{
	for (size_t g = 0; g < inventory->count; g++) {
		ret[g].lease = lease_held(folder, &inventory->gpus[g], &ret[g].holder);
		ret[g].why = ret[g].lease == LEASE_UNKNOWN ? errno : 0;
		ret[g].use = lease_state_of(terms, &inventory->gpus[g]);
	}
}

static bool make_room(struct wishes *w, size_t gpus)
{
	w->list = calloc(w->count + 1, sizeof(*w->list));
	w->passed = calloc(w->count + 1, sizeof(*w->passed));
	w->sights = calloc(gpus + 1, sizeof(*w->sights));
	w->marks = calloc((w->count + 1) * (gpus + 1), 2 * sizeof(*w->marks));
	w->orders = calloc((w->count + 1) * (gpus + 1), sizeof(*w->orders));
	return w->list && w->passed && w->sights && w->marks && w->orders;
}

int wishes_read(struct wishes *ret, const struct lease_folder *folder, uint64_t before,
		const gpumap_claim *claim, const gpumap_inventory *inventory, gpumap_report *report)
{
	const size_t gpus = inventory->count;
	int r = lease_queue_read(&ret->tickets, &ret->count, folder, before);

	if (r == GPUMAP_EFILE)
		return report_fail(report, r, FINDING_FILE_ACCESS, ABOUT(.origin = folder->path),
				   "the queue cannot be read: %s", strerror(errno));
	if (r != GPUMAP_OK || !make_room(ret, gpus))
		return report_nomem(report);
	look(ret->sights, folder, &claim->terms, inventory);
	for (size_t i = 0; r == GPUMAP_OK && i <= ret->count; i++) {
		const struct lease_ticket *ticket = i < ret->count ? &ret->tickets[i] : NULL;
		const struct lease_terms *terms = ticket ? &ticket->terms : &claim->terms;
		bool *usable = ret->marks + 2 * i * gpus, *free_gpus = usable + gpus;
		size_t *order = ret->orders + i * gpus, preferred = 0;

		for (size_t g = 0; g < gpus; g++)
			order[g] = g;
		if (ticket) {
			mark_named(usable, inventory, ticket->from);
			preferred = order_named(order, inventory, ticket->prefer);
		} else {
			r = claim_usable(usable, claim, inventory, report);
			if (r == GPUMAP_OK)
				r = claim_order(order, &preferred, claim, inventory, report);
		}
		mark_free(free_gpus, terms, inventory, ret->sights);
		ret->list[i] = (struct lease_wish){
			.count = ticket ? ticket->count : claim->count,
			.usable = usable,
			.free_gpus = free_gpus,
			.order = order,
			.preferred = preferred,
			.near = terms->near,
			.firm = ticket && ticket->passes >= MAX_PASSES,
		};
	}
	return r;
}
