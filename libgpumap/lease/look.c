/* SPDX-License-Identifier: MIT */
/* What the locks of all units show: whole GPUs, slots and MIG instances. */
#include "lease/lease.h"

#include <errno.h>

#include "lease/units.h"

/* A lease's file counts also where its other locks are not seen, as those of a sysfs that is not
 * there. */
static void see_lease(struct lease_sight *sights, const gpumap_inventory *units,
		      const struct lease_walk *walk)
{
	size_t named = lease_named(units, walk->unit), gpu = named, slots = walk->slots;
	struct lease_sight *sight;
	int64_t pid;

	if (named == units->count)
		return;
	while (gpu && is_instance(&units->gpus[gpu]))
		gpu--;
	sight = &sights[gpu];
	if (sight->lease == LEASE_UNKNOWN)
		return;
	pid = lease_locker(walk->folder, walk->fd);
	if (named != gpu) {
		sights[named].instances = 1;
		sights[named].owner = pid;
	}
	if (slots == 1 || sight->lease == LEASE_HELD) {
		sight->owner = slots == 1 ? pid : sight->owner;
		sight->lease = LEASE_HELD;
		return;
	}
	sight->lease = LEASE_SHARED;
	if (!(sight->load.used + sight->instances) || !sight->owner || (pid && pid < sight->owner))
		sight->owner = pid;
	if (slots)
		load_add(&sight->load, slots);
	else
		sight->instances++;
}

/* A shared lock on the files of a GPU is one of its slots or instances. If the folder has none that
 * is held, these are in another folder, which shares sysfs with this one. */
static enum lease_state state_of(const struct lease_sight *gpu)
{
	return gpu->lease != LEASE_SHARED || (gpu->load.used && !gpu->instances) ? gpu->lease
										 : LEASE_HELD;
}

/* An instance that is not leased itself is free if its GPU is, or other instances of that are
 * leased. */
static enum lease_state state_of_instance(const struct lease_sight *own,
					  const struct lease_sight *gpu)
{
	if (own->lease == LEASE_UNKNOWN || own->instances)
		return own->instances ? LEASE_HELD : own->lease;
	return gpu->lease == LEASE_FREE || (gpu->instances && !gpu->load.used) ? LEASE_FREE
									       : LEASE_HELD;
}

int lease_look(struct lease_sight *ret, const struct lease_folder *folder,
	       const gpumap_inventory *units)
{
	struct lease_walk walk;
	size_t gpu = 0;

	for (size_t g = 0; g < units->count; g++) {
		ret[g] = (struct lease_sight){.load = NO_LOAD};
		ret[g].lease = lease_held(folder, &units->gpus[g], &ret[g].owner);
		ret[g].why = ret[g].lease == LEASE_UNKNOWN ? errno : 0;
	}
	walk = lease_walk(folder, NULL);
	while (lease_next(&walk))
		see_lease(ret, units, &walk);
	for (size_t g = 0; g < units->count; g++) {
		if (!is_instance(&units->gpus[g])) {
			ret[gpu = g].lease = state_of(&ret[g]);
			continue;
		}
		ret[g].lease = state_of_instance(&ret[g], &ret[gpu]);
		if (ret[g].lease == LEASE_HELD && !ret[g].owner)
			ret[g].owner = ret[gpu].owner; /* who has the whole GPU */
	}
	return walk.code;
}
