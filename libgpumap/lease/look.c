/* SPDX-License-Identifier: MIT */
/* What the locks of all units show: whole GPUs, slots and MIG instances. */
#include "lease/lease.h"

#include <errno.h>

#include "lease/units.h"

struct look {
	const struct lease_folder *folder;
	struct lease_sight *sights;
	const gpumap_inventory *units;
};

/* The GPU with the name, or of the instance with it; NULL. */
static struct lease_sight *find_gpu(const struct look *look, struct span unit, size_t slots)
{
	char name[LEASE_NAME];

	for (size_t g = 0; g < look->units->count; g++) {
		if (is_instance(&look->units->gpus[g]))
			continue;
		lease_name(name, &look->units->gpus[g]);
		if (slots ? span_is(unit, name) : lease_names_instance(unit, name))
			return &look->sights[g];
	}
	return NULL;
}

/* A lease's file counts also where its other locks are not seen, as those of a sysfs that is not
 * there. */
static void see_lease(struct span unit, size_t slots, int fd, void *data)
{
	const struct look *look = data;
	struct lease_sight *sight = find_gpu(look, unit, slots);
	size_t named = slots ? look->units->count : lease_named(look->units, unit);
	int64_t pid;

	if (!sight || sight->lease == LEASE_UNKNOWN)
		return;
	pid = lease_locker(look->folder, fd);
	if (named < look->units->count && is_instance(&look->units->gpus[named])) {
		look->sights[named].instances = 1;
		look->sights[named].owner = pid;
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
	struct look look = {folder, ret, units};
	size_t gpu = 0;
	int r;

	for (size_t g = 0; g < units->count; g++) {
		ret[g] = (struct lease_sight){.load = NO_LOAD};
		ret[g].lease = lease_held(folder, &units->gpus[g], &ret[g].owner);
		ret[g].why = ret[g].lease == LEASE_UNKNOWN ? errno : 0;
	}
	r = lease_slots_each(folder, NULL, see_lease, &look);
	for (size_t g = 0; g < units->count; g++) {
		if (is_instance(&units->gpus[g]))
			ret[g].lease = state_of_instance(&ret[g], &ret[gpu]);
		else
			ret[gpu = g].lease = state_of(&ret[g]);
	}
	return r;
}
