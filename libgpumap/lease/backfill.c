/* SPDX-License-Identifier: MIT */
/*
 * All that is not known counts as early: a lease without an end, or with one that is not believed,
 * may end at any moment, and so may the use of a GPU without a lease. That other jobs come first is
 * left out for the same reason. How often a job may be passed is decided in passes.c.
 */
#include "lease/lease.h"

#include "inventory/inventory.h"
#include "lease/note.h"

/* A unit is not free before the last of its leases has ended. */
static void add_end(int64_t *end, const struct lease_folder *folder, int64_t owner)
{
	struct lease_note note;

	if (owner > 0 && lease_note_read_in(&note, folder, owner) && note.end_ms > *end)
		*end = note.end_ms;
}

int backfill_ends(int64_t *ret, const struct lease_folder *folder, const gpumap_inventory *units,
		  const struct lease_sight *sights)
{
	struct lease_walk walk;
	bool shared = false;

	for (size_t g = 0; g < units->count; g++) {
		ret[g] = 0;
		if (sights[g].lease == LEASE_HELD)
			add_end(&ret[g], folder, sights[g].owner);
		shared = shared || sights[g].lease == LEASE_SHARED;
	}
	if (!shared)
		return GPUMAP_OK;
	walk = lease_walk(folder, NULL);
	while (lease_next(&walk)) {
		size_t g = lease_named(units, walk.unit);

		if (walk.slots && g < units->count && sights[g].lease == LEASE_SHARED)
			add_end(&ret[g], folder, lease_locker(folder, walk.fd));
	}
	return walk.code;
}

/* When the job could have a unit. One that shares it may find a slot before all others end. */
static int64_t free_at(const struct lease_wish *wish, const struct lease_sight *sight, int64_t end,
		       size_t g)
{
	return wish->free_gpus[g] || (sight->lease == LEASE_SHARED && wish->slots > 1) ? 0 : end;
}

int64_t backfill_ready(const struct lease_wish *wish, const struct lease_sight *sights,
		       const int64_t *ends, size_t units)
{
	int64_t ready = INT64_MAX;

	for (size_t g = 0; g < units; g++) {
		int64_t at = free_at(wish, &sights[g], ends[g], g);
		size_t by_then = 0;

		for (size_t h = 0; h < units; h++)
			by_then += wish->usable[h] && free_at(wish, &sights[h], ends[h], h) <= at;
		if (wish->usable[g] && by_then >= wish->count && at < ready)
			ready = at;
	}
	return ready == INT64_MAX ? 0 : ready;
}

bool backfill_fits(const struct lease_wish *own, const struct lease_wish *waiting)
{
	return own->slots == 1 && own->end <= waiting->ready;
}
