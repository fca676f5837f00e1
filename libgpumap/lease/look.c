/* SPDX-License-Identifier: MIT */
/* What the locks of all GPUs show: whole ones and slots. */
#include "lease/lease.h"

#include <errno.h>

#include "inventory/inventory.h"

struct look {
	struct lease_sight *sights;
	const gpumap_inventory *inventory;
};

static void see_slot(struct span gpu, size_t slots, int fd, void *data)
{
	const struct look *look = data;
	char name[LEASE_NAME];
	int64_t pid;

	for (size_t g = 0; g < look->inventory->count; g++) {
		struct lease_sight *sight = &look->sights[g];

		lease_name(name, &look->inventory->gpus[g]);
		if (sight->lease != LEASE_SHARED || !span_is(gpu, name))
			continue;
		pid = lease_locker(fd);
		if (!sight->load.used || !sight->holder || (pid && pid < sight->holder))
			sight->holder = pid;
		load_add(&sight->load, slots);
		return;
	}
}

int lease_look(struct lease_sight *ret, const struct lease_folder *folder,
	       const gpumap_inventory *inventory)
{
	struct look look = {ret, inventory};
	bool shared = false;
	int r = GPUMAP_OK;

	for (size_t g = 0; g < inventory->count; g++) {
		ret[g] = (struct lease_sight){.load = NO_LOAD};
		ret[g].lease = lease_held(folder, &inventory->gpus[g], &ret[g].holder);
		ret[g].why = ret[g].lease == LEASE_UNKNOWN ? errno : 0;
		shared = shared || ret[g].lease == LEASE_SHARED;
	}
	if (shared)
		r = lease_slots_each(folder, see_slot, &look);
	/* Its slots are in another folder, which shares sysfs with this one. */
	for (size_t g = 0; g < inventory->count; g++)
		if (ret[g].lease == LEASE_SHARED && !ret[g].load.used)
			ret[g].lease = LEASE_HELD;
	return r;
}
