/* SPDX-License-Identifier: MIT */
/* A selection becomes devices of a class of hosts. */
#include "plan/build.h"

struct picker {
	struct builder *b;
	struct host_class *class;
	struct device_index index;
	bool *taken; /* by place */
};

static bool take(struct picker *k, const gpumap_device *device)
{
	bool *taken = &k->taken[device_place(k->class->host->inventory, device)];

	if (*taken)
		return false;
	*taken = true;
	k->class->devices[k->class->count++] = device;
	return true;
}

/* A GPU with MIG enabled is its instances. */
static size_t take_all(struct picker *k, const gpumap_device *gpu)
{
	size_t n = 0;

	if (gpu->mig_enabled != 1)
		return take(k, gpu);
	for (size_t m = 0; m < gpu->mig_count; m++)
		n += take(k, &gpu->mig[m]);
	return n;
}

static void tell_bad(struct picker *k, const struct entry *entry, const char *why, const char *fix)
{
	const struct plan_place *place = &k->class->settings->places[PLAN_KEY_GPUS];

	plan_tell(k->b, FINDING_BAD_SELECTION,
		  ABOUT(.origin = place->origin, .line = place->line,
			.column = (place->column ? place->column : 1) + (int)entry->column,
			.fix = fix),
		  "gpus: '%s' %s on %s%s", QUOTE(entry->text), why, k->class->host->name,
		  MORE_HOSTS(k->class->host_count));
	k->class->bad = true;
}

static void take_named(struct picker *k, const struct entry *entry)
{
	const gpumap_inventory *inventory = k->class->host->inventory;
	size_t matches = 0;

	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		if (!gpu->name || !span_glob(entry->text, gpu->name))
			continue;
		matches++;
		take_all(k, gpu);
	}
	if (!matches)
		tell_bad(k, entry, "is the name of no GPU",
			 "gpumap inventory prints the names; * stands for any text");
}

static void take_entry(struct picker *k, const struct entry *entry)
{
	const gpumap_device *device = NULL;
	bool several = false;

	if (entry->kind == ENTRY_NAME) {
		take_named(k, entry);
		return;
	}
	if (entry->kind == ENTRY_NUMBER)
		device = device_by_number(&k->index, entry->number);
	else if (entry->kind == ENTRY_PCI)
		device = device_by_pci(&k->index, entry->pci);
	else
		device = device_by_uuid(&k->index, entry->text, &several);
	if (several)
		tell_bad(k, entry, "is the beginning of several UUIDs", "write more of the UUID");
	else if (!device)
		tell_bad(k, entry, "is no GPU", "gpumap inventory lists the devices");
	else if (device->mig_enabled == 1 && device == device->gpu)
		tell_bad(k, entry, "has MIG enabled and is no device by itself",
			 "name its instances, MIG-..; nvidia-smi -L lists them");
	else if (!take(k, device))
		tell_bad(k, entry, "is a device that is named already", "name each device once");
}

static int pick(struct picker *k)
{
	const gpumap_inventory *inventory = k->class->host->inventory;
	const struct selection *selection = k->class->selection;

	if (selection->kind == SELECT_INHERIT && k->class->host->inherited_count)
		return bounds_inherit(k->b, k->class, &k->index);
	if (selection->kind != SELECT_ENTRIES) {
		for (size_t i = 0; i < inventory->count; i++)
			take_all(k, &inventory->gpus[i]);
		return GPUMAP_OK;
	}
	for (size_t i = 0; i < selection->count; i++)
		take_entry(k, &selection->entries[i]);
	return GPUMAP_OK;
}

int selection_apply(struct builder *b, struct host_class *class)
{
	const gpumap_inventory *inventory = class->host->inventory;
	struct picker k = {.b = b, .class = class};
	int r;

	if (class->selection->kind == SELECT_NONE) {
		class->without = true;
		return GPUMAP_OK;
	}
	if (!inventory) {
		class->bad = true;
		plan_tell(b, FINDING_NO_INVENTORY,
			  ABOUT(.fix = "record it there with gpumap inventory --save, or say "
				       "inventory = 8"),
			  "nothing is known of the GPUs of %s%s", class->host->name,
			  MORE_HOSTS(class->host_count));
		return GPUMAP_OK;
	}
	class->devices =
		arena_alloc(&b->scratch, device_total(inventory) + 1, sizeof(*class->devices));
	k.taken = arena_alloc(&b->passing, device_places(inventory) + 1, sizeof(*k.taken));
	if (!class->devices || !k.taken)
		return plan_nomem(b);
	r = device_index_make(b, inventory, &k.index);
	if (r == GPUMAP_OK)
		r = pick(&k);
	if (r == GPUMAP_OK && !class->bad)
		r = bounds_apply(b, class, &k.index);
	if (r == GPUMAP_OK && !class->bad)
		r = arrange_devices(b, class, &k.index);
	return r == GPUMAP_OK && !class->bad ? name_devices(b, class) : r;
}
