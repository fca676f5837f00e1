/* SPDX-License-Identifier: MIT */
/* From an inventory to the GPUs that NVML would count. */
#include "pretend.h"

#include <stdio.h>

#define MADE_UUID "70726574-656e-6400" /* "pretend" */

static int read_inventory(gpumap_inventory **ret)
{
	const char *text = getenv("GPUMAP_PRETEND_TEXT");
	const char *what = getenv("GPUMAP_PRETEND_INVENTORY");

	if (text && *text)
		return gpumap_inventory_parse(ret, text, strlen(text), "GPUMAP_PRETEND_TEXT", NULL);
	/* "host" would ask this library itself; standard input is the program's. */
	if (!what || !*what || streq(what, "host") || streq(what, "-"))
		return GPUMAP_EFILE;
	return gpumap_inventory_open(ret, what, NULL);
}

/* The number of each GPU; positions if the numbers cannot be used. */
static unsigned int number_of(const gpumap_inventory *inventory, size_t i)
{
	const gpumap_device *last = &inventory->gpus[inventory->count - 1];
	const gpumap_device *d = &inventory->gpus[i];

	if (last->physical < 0 || last->physical >= GPUMAP_MAX_DEVICES)
		return (unsigned int)i;
	return (unsigned int)d->physical;
}

static size_t highest_number(const gpumap_inventory *inventory)
{
	size_t highest = 0;

	for (size_t i = 0; i < inventory->count; i++)
		if (number_of(inventory, i) > highest)
			highest = number_of(inventory, i);
	return highest;
}

static void place_instances(struct unit *gpu, struct unit *first)
{
	gpu->mig = first;
	gpu->mig_count = (unsigned int)gpu->device->mig_count;
	for (unsigned int i = 0; i < gpu->mig_count; i++) {
		struct unit *u = &first[i];

		u->device = &gpu->device->mig[i];
		u->gpu = gpu;
		u->index = i;
		u->gi = u->device->gi >= 0 ? (unsigned int)u->device->gi : i + 1;
		u->ci = u->device->ci >= 0 ? (unsigned int)u->device->ci : 0;
		snprintf(u->made_uuid, sizeof(u->made_uuid), "MIG-" MADE_UUID "-8001-%08x%04x",
			 gpu->index, i);
		u->uuid = u->device->uuid ? u->device->uuid : u->made_uuid;
	}
}

static bool known_address(struct unit *u)
{
	const char *pci = u->device ? u->device->pci : NULL;

	return pci && sscanf(pci, "%x:%x:%x", &u->domain, &u->bus, &u->slot) == 3;
}

static void place_gpus(struct machine *machine)
{
	unsigned int next_domain = 0;

	for (size_t i = 0; i < machine->gpus; i++) {
		struct unit *u = &machine->units[i];

		u->gpu = u;
		u->index = (unsigned int)i;
		snprintf(u->made_uuid, sizeof(u->made_uuid), "GPU-" MADE_UUID "-8000-%012x",
			 u->index);
		u->uuid = u->device && u->device->uuid ? u->device->uuid : u->made_uuid;
		if (known_address(u) && u->domain >= next_domain)
			next_domain = u->domain + 1;
	}
	for (size_t i = 0; i < machine->gpus; i++) {
		struct unit *u = &machine->units[i];

		if (known_address(u))
			continue;
		u->domain = next_domain + u->index / 255;
		u->bus = u->index % 255 + 1;
		u->slot = 0;
	}
}

static bool place_units(struct machine *machine)
{
	const gpumap_inventory *inventory = machine->inventory;
	size_t instances = 0, next;
	/* GPUs found on the bus can be listed, not used. */
	size_t count = inventory->no_gpu ? 0 : inventory->count;

	for (size_t i = 0; i < count; i++)
		instances += inventory->gpus[i].mig_count;
	machine->gpus = count ? highest_number(inventory) + 1 : 0;
	machine->count = machine->gpus + instances;
	machine->units = calloc(machine->count + 1, sizeof(*machine->units));
	if (!machine->units)
		return false;
	for (size_t i = 0; i < count; i++)
		machine->units[number_of(inventory, i)].device = &inventory->gpus[i];
	place_gpus(machine);
	next = machine->gpus;
	for (size_t i = 0; i < machine->gpus; i++) {
		if (!machine->units[i].device)
			continue;
		place_instances(&machine->units[i], &machine->units[next]);
		next += machine->units[i].mig_count;
	}
	return true;
}

static struct stat file_now(void)
{
	const char *what = getenv("GPUMAP_PRETEND_INVENTORY");
	struct stat st, none = {0};

	return what && stat(what, &st) == 0 ? st : none;
}

bool machine_changed(const struct machine *machine)
{
	const struct stat st = file_now(), *old = &machine->file;

	return st.st_ino && (st.st_ino != old->st_ino || st.st_size != old->st_size ||
			     st.st_mtim.tv_sec != old->st_mtim.tv_sec ||
			     st.st_mtim.tv_nsec != old->st_mtim.tv_nsec);
}

enum nvml_return machine_load(struct machine *machine)
{
	int r;

	machine->file = file_now();
	r = read_inventory(&machine->inventory);
	if (r == GPUMAP_OK && place_units(machine))
		return NVML_SUCCESS;
	machine_free(machine);
	return r == GPUMAP_OK || r == GPUMAP_ENOMEM ? NVML_ERROR_MEMORY
						    : NVML_ERROR_DRIVER_NOT_LOADED;
}

void machine_free(struct machine *machine)
{
	gpumap_inventory_free(machine->inventory);
	free(machine->units);
	memset(machine, 0, sizeof(*machine));
}
