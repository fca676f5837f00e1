/* SPDX-License-Identifier: MIT */
#include "lease/holders.h"

#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/claim.h"
#include "lease/nested.h"
#include "report.h"

enum { GATE_MS = 100 };

struct held {
	size_t gpu, slots;
	int64_t pid;
};

/* All that is leased. */
struct leases {
	const gpumap_inventory *inventory;
	struct lease_sight *sights;
	struct held *list;
	size_t count, room;
	bool nomem;
};

static void add(struct leases *all, size_t gpu, size_t slots, int64_t pid)
{
	struct held *list = array_room(all->list, all->count, &all->room, sizeof(*list));

	all->nomem = all->nomem || !list;
	if (!list)
		return;
	all->list = list;
	list[all->count++] = (struct held){gpu, slots, pid};
}

static void add_slot(struct span gpu, size_t slots, int fd, void *data)
{
	struct leases *all = data;
	char name[LEASE_NAME];

	for (size_t g = 0; g < all->inventory->count; g++) {
		lease_name(name, &all->inventory->gpus[g]);
		if (all->sights[g].lease == LEASE_SHARED && span_is(gpu, name)) {
			add(all, g, slots, lease_locker(fd));
			return;
		}
	}
}

static int by_gpu_and_pid(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->gpu != y->gpu)
		return (x->gpu > y->gpu) - (x->gpu < y->gpu);
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* In the gate. */
static int look(struct leases *all, const struct lease_folder *folder)
{
	bool shared = false;
	int r = lease_look(all->sights, folder, all->inventory);

	for (size_t g = 0; r == GPUMAP_OK && g < all->inventory->count; g++) {
		shared = shared || all->sights[g].lease == LEASE_SHARED;
		if (all->sights[g].lease == LEASE_HELD)
			add(all, g, 1, all->sights[g].holder);
	}
	if (shared && r == GPUMAP_OK)
		r = lease_slots_each(folder, add_slot, all);
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_gpu_and_pid);
	return all->nomem ? GPUMAP_ENOMEM : r;
}

/* If the gate stays locked, or the folder cannot be listed, nothing is known of any GPU. */
static int read_leases(struct leases *all, const gpumap_claim *claim, gpumap_report *report)
{
	struct lease_folder folder;
	int gate = -1, r;

	all->sights = calloc(all->inventory->count + 1, sizeof(*all->sights));
	if (!all->sights)
		return report_nomem(report);
	r = lease_folder_open(&folder, claim->folder, claim->sysfs, false, report);
	if (r != GPUMAP_OK)
		return r;
	/* To test a lock takes it for a moment, in which a job would find the GPU leased. */
	if (folder.fd >= 0)
		r = lease_gate(&gate, &folder, GATE_MS, NULL);
	if (r == GPUMAP_OK)
		r = look(all, &folder);
	if (gate >= 0)
		close(gate);
	lease_folder_close(&folder);
	if (r == GPUMAP_ENOMEM)
		return report_nomem(report);
	for (size_t g = 0; r != GPUMAP_OK && g < all->inventory->count; g++)
		all->sights[g].lease = LEASE_UNKNOWN;
	return GPUMAP_OK;
}

static void leases_free(struct leases *all)
{
	free(all->sights);
	free(all->list);
}

EXPORT int gpumap_lease_holders(int64_t *ret, const gpumap_claim *claim,
				const gpumap_inventory *inventory, gpumap_report *report)
{
	struct leases all = {.inventory = inventory};
	int r = read_leases(&all, claim, report);

	for (size_t g = 0; r == GPUMAP_OK && g < inventory->count; g++)
		ret[g] = all.sights[g].lease == LEASE_FREE      ? GPUMAP_LEASE_NONE
			 : all.sights[g].lease == LEASE_UNKNOWN ? GPUMAP_LEASE_UNKNOWN
								: all.sights[g].holder;
	leases_free(&all);
	return r;
}

int lease_outside(int64_t *ret, const gpumap_claim *claim, const gpumap_inventory *inventory)
{
	struct lease_folder folder;
	int r = gpumap_lease_holders(ret, claim, inventory, NULL);

	if (r != GPUMAP_OK || !claim->keeper)
		return r;
	r = lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL);
	if (r != GPUMAP_OK)
		return r;
	r = lease_nested(&folder, claim->keeper, NULL);
	for (size_t g = 0; r == GPUMAP_OK && g < inventory->count; g++)
		if (folder.inside && lease_is_inside(&folder, &inventory->gpus[g]))
			ret[g] = GPUMAP_LEASE_NONE;
	lease_folder_close(&folder);
	return r;
}

EXPORT int gpumap_lease_each(const gpumap_claim *claim, const gpumap_inventory *inventory,
			     int (*fn)(const gpumap_device *device, int64_t slots, int64_t pid,
				       void *data),
			     void *data, gpumap_report *report)
{
	struct leases all = {.inventory = inventory};
	int r = read_leases(&all, claim, report);

	for (size_t i = 0; r == GPUMAP_OK && i < all.count; i++)
		r = fn(&inventory->gpus[all.list[i].gpu], (int64_t)all.list[i].slots,
		       all.list[i].pid, data);
	leases_free(&all);
	return r;
}
