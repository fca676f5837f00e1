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

/* The GPU with the name, or of the instance with it, if it is shared; NULL. */
static struct lease_sight *find_shared(const struct look *look, struct span gpu, size_t slots)
{
	char name[LEASE_NAME];

	for (size_t g = 0; g < look->units->count; g++) {
		const gpumap_device *unit = &look->units->gpus[g];

		if (is_instance(unit) || look->sights[g].lease != LEASE_SHARED)
			continue;
		lease_name(name, unit);
		if (slots ? span_is(gpu, name) : lease_names_instance(gpu, name))
			return &look->sights[g];
	}
	return NULL;
}

static void see_part(struct span gpu, size_t slots, int fd, void *data)
{
	const struct look *look = data;
	struct lease_sight *sight = find_shared(look, gpu, slots);
	int64_t pid;

	if (!sight)
		return;
	pid = lease_locker(look->folder, fd);
	if (!(sight->load.used + sight->instances) || !sight->holder ||
	    (pid && pid < sight->holder))
		sight->holder = pid;
	if (slots)
		load_add(&sight->load, slots);
	else
		sight->instances++;
}

/* A shared lock on the files of a GPU is one of its slots or instances. If the folder has none that
 * is held, these are in another folder, which shares sysfs with this one. */
static enum lease_state state_of_shared(const struct look *look, size_t g)
{
	const struct lease_sight *gpu;
	bool instance = is_instance(&look->units->gpus[g]);

	while (is_instance(&look->units->gpus[g]))
		g--;
	gpu = &look->sights[g];
	if (instance)
		return gpu->instances && !gpu->load.used ? LEASE_FREE : LEASE_HELD;
	return gpu->load.used && !gpu->instances ? LEASE_SHARED : LEASE_HELD;
}

int lease_look(struct lease_sight *ret, const struct lease_folder *folder,
	       const gpumap_inventory *units)
{
	struct look look = {folder, ret, units};
	bool shared = false;
	int r = GPUMAP_OK;

	for (size_t g = 0; g < units->count; g++) {
		ret[g] = (struct lease_sight){.load = NO_LOAD};
		ret[g].lease = lease_held(folder, &units->gpus[g], &ret[g].holder);
		ret[g].why = ret[g].lease == LEASE_UNKNOWN ? errno : 0;
		shared = shared || ret[g].lease == LEASE_SHARED;
	}
	if (shared)
		r = lease_slots_each(folder, see_part, &look);
	for (size_t g = 0; g < units->count; g++)
		if (ret[g].lease == LEASE_SHARED)
			ret[g].lease = state_of_shared(&look, g);
	return r;
}
