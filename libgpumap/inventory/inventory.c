/* SPDX-License-Identifier: MIT */
/* See inventory.h. */
#include "inventory/inventory.h"

#include <stdio.h>

#include "memory.h"

gpumap_inventory *inventory_new(const char *source, const char *origin)
{
	gpumap_inventory *inventory = xcalloc(1, sizeof(*inventory));

	if (!inventory)
		return NULL;
	inventory->doubt = -1;
	inventory->origin = escaped_copy(origin);
	if (!member_set(&inventory->source, span_of(source)) || (origin && !inventory->origin)) {
		gpumap_inventory_free(inventory);
		return NULL;
	}
	return inventory;
}

static void device_clear(gpumap_device *device)
{
	for (size_t i = 0; i < device->mig_count; i++)
		device_clear(&device->mig[i]);
	for (size_t i = 0; device->processes && i < device->process_count; i++)
		process_clear(&device->processes[i]);
	free(device->processes);
	free(device->mig);
	free(device->uuid);
	free(device->pci);
	free(device->name);
	free(device->numa);
	free(device->cpus);
	free(device->profile);
	free(device->nvlink);
}

EXPORT void gpumap_inventory_free(gpumap_inventory *inventory)
{
	if (!inventory)
		return;
	for (size_t i = 0; i < inventory->count; i++)
		device_clear(&inventory->gpus[i]);
	free(inventory->gpus);
	free(inventory->source);
	free(inventory->origin);
	free(inventory->driver);
	free(inventory->host);
	free(inventory->date);
	free(inventory->no_gpu);
	free(inventory->order[0]);
	free(inventory->order[1]);
	free(inventory);
}

gpumap_device device_unknown(void)
{
	gpumap_device device = {
		.index = -1,
		.physical = -1,
		.mig_position = -1,
		.memory = -1,
		.minor = -1,
		.mig_enabled = -1,
		.nvlink_count = -1,
		.gi = -1,
		.ci = -1,
	};

	usage_forget(&device);
	return device;
}

gpumap_device *inventory_add(gpumap_inventory *inventory)
{
	if (inventory->count >= GPUMAP_MAX_DEVICES ||
	    !ARRAY_ROOM(inventory->gpus, inventory->count, inventory->room))
		return NULL;
	inventory->gpus[inventory->count] = device_unknown();
	return &inventory->gpus[inventory->count++];
}

gpumap_device *device_add_mig(gpumap_device *gpu)
{
	gpumap_device *mig;

	if (gpu->mig_count >= MAX_MIG)
		return NULL;
	mig = xrealloc(gpu->mig, (gpu->mig_count + 1) * sizeof(*mig));
	if (!mig)
		return NULL;
	gpu->mig = mig;
	gpu->mig_enabled = 1;
	mig[gpu->mig_count] = device_unknown();
	return &mig[gpu->mig_count++];
}

const gpumap_device *inventory_by_pci(const gpumap_inventory *inventory, const char *pci)
{
	for (size_t i = 0; i < inventory->count; i++)
		if (inventory->gpus[i].pci && streq(inventory->gpus[i].pci, pci))
			return &inventory->gpus[i];
	return NULL;
}

static bool is_plain(struct span text)
{
	bool shown = true;

	for (size_t i = 0; i < text.length && shown;)
		i += utf8_next(text.text + i, text.length - i, &shown);
	return shown;
}

bool member_set(char **member, struct span value)
{
	struct strbuf buf = {0};
	char *copy;

	if (is_plain(value))
		strbuf_add(&buf, value.text, value.length);
	else
		escape_to(&buf, value.text, value.length);
	copy = strbuf_take(&buf);
	if (!copy)
		return false;
	free(*member);
	*member = copy;
	return true;
}

int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

bool device_set_nvlink(gpumap_device *device, const int *neighbours, size_t count)
{
	int *copy = xmalloc((count ? count : 1) * sizeof(*copy));
	int kept = 0;

	if (!copy)
		return false;
	if (count)
		memcpy(copy, neighbours, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), compare_int);
	for (size_t i = 0; i < count; i++)
		if (!kept || copy[kept - 1] != copy[i])
			copy[kept++] = copy[i];
	free(device->nvlink);
	device->nvlink = copy;
	device->nvlink_count = kept;
	return true;
}

static bool same_model(const gpumap_device *a, const gpumap_device *b)
{
	int64_t more, less;

	if (!a->name || !b->name)
		return !a->name && !b->name;
	if (!streq(a->name, b->name))
		return false;
	if (a->memory < 0 || b->memory < 0)
		return true;
	/* Some names are those of cards of two sizes; ECC and reserved pages make small
	 * differences. */
	more = a->memory > b->memory ? a->memory : b->memory;
	less = a->memory > b->memory ? b->memory : a->memory;
	return more - less <= more / 10;
}

bool model_add(struct model *model, const gpumap_device *device)
{
	if (!model->least)
		*model = (struct model){device, device};
	if (!same_model(model->least, device) || !same_model(model->most, device))
		return false;
	if (device->memory < 0)
		return true;
	if (model->least->memory < 0 || device->memory < model->least->memory)
		model->least = device;
	if (device->memory > model->most->memory)
		model->most = device;
	return true;
}

bool is_full_uuid(struct span s, const char *prefix)
{
	size_t skip = strlen(prefix);

	if (!span_starts(s, prefix) || s.length != skip + 36)
		return false;
	for (size_t i = 0; i < 36; i++) {
		char c = s.text[skip + i];
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? c != '-' : !is_hex(c))
			return false;
	}
	return true;
}

EXPORT size_t gpumap_inventory_count(const gpumap_inventory *inventory)
{
	return inventory ? inventory->count : 0;
}

EXPORT const gpumap_device *gpumap_inventory_get(const gpumap_inventory *inventory, size_t i)
{
	return inventory && i < inventory->count ? &inventory->gpus[i] : NULL;
}

EXPORT const char *gpumap_inventory_str(const gpumap_inventory *inventory,
					enum gpumap_inventory_str_attr attr)
{
	if (!inventory)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_INVENTORY_SOURCE] = inventory->source,
		       [GPUMAP_INVENTORY_ORIGIN] = inventory->origin,
		       [GPUMAP_INVENTORY_DRIVER] = inventory->driver,
		       [GPUMAP_INVENTORY_HOST] = inventory->host,
		       [GPUMAP_INVENTORY_DATE] = inventory->date,
		       [GPUMAP_INVENTORY_NO_GPU] = inventory->no_gpu);
}

EXPORT int64_t gpumap_inventory_int(const gpumap_inventory *inventory,
				    enum gpumap_inventory_int_attr attr)
{
	if (!inventory)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_INVENTORY_ASSUMED) = inventory->assumed,
			 NUMBERED(GPUMAP_INVENTORY_PARTIAL) = inventory->partial,
			 NUMBERED(GPUMAP_INVENTORY_USAGE) = inventory->usage);
}

EXPORT const char *gpumap_device_str(const gpumap_device *device, enum gpumap_device_str_attr attr)
{
	const gpumap_device *gpu;

	if (!device)
		return NULL;
	gpu = device->gpu ? device->gpu : device;
	return TEXT_AT(
		attr, [GPUMAP_DEVICE_UUID] = device->uuid, [GPUMAP_DEVICE_PCI] = gpu->pci,
		[GPUMAP_DEVICE_NAME] = gpu->name, [GPUMAP_DEVICE_NUMA] = gpu->numa,
		[GPUMAP_DEVICE_CPUS] = gpu->cpus, [GPUMAP_DEVICE_MIG_PROFILE] = device->profile);
}

EXPORT int64_t gpumap_device_int(const gpumap_device *device, enum gpumap_device_int_attr attr)
{
	if (!device)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_DEVICE_INDEX) = device->gpu->index,
			 NUMBERED(GPUMAP_DEVICE_MEMORY) = device->memory,
			 NUMBERED(GPUMAP_DEVICE_MINOR) = device->gpu->minor,
			 NUMBERED(GPUMAP_DEVICE_MIG_ENABLED) = device->gpu->mig_enabled,
			 NUMBERED(GPUMAP_DEVICE_MIG_GI) = device->gi,
			 NUMBERED(GPUMAP_DEVICE_MIG_CI) = device->ci,
			 NUMBERED(GPUMAP_DEVICE_PHYSICAL) = device->physical,
			 NUMBERED(GPUMAP_DEVICE_MEMORY_USED) = device->used,
			 NUMBERED(GPUMAP_DEVICE_MEMORY_FREE) = device->free,
			 NUMBERED(GPUMAP_DEVICE_MEMORY_RESERVED) = device->reserved,
			 NUMBERED(GPUMAP_DEVICE_UTILIZATION) = device->utilization,
			 NUMBERED(GPUMAP_DEVICE_TEMPERATURE) = device->gpu->temperature,
			 NUMBERED(GPUMAP_DEVICE_COMPUTE_MODE) = device->gpu->compute_mode,
			 NUMBERED(GPUMAP_DEVICE_PROCESSES_COMPLETE) =
				 device->listed == LISTED_UNKNOWN ? -1
								  : device->listed == LISTED_ALL,
			 NUMBERED(GPUMAP_DEVICE_MEMORY_HIDDEN) =
				 attr == GPUMAP_DEVICE_MEMORY_HIDDEN ? usage_hidden(device) : -1);
}

EXPORT size_t gpumap_device_mig_count(const gpumap_device *device)
{
	return device ? device->mig_count : 0;
}

EXPORT const gpumap_device *gpumap_device_mig(const gpumap_device *device, size_t i)
{
	return device && i < device->mig_count ? &device->mig[i] : NULL;
}

EXPORT int gpumap_device_nvlink_count(const gpumap_device *device)
{
	return device ? device->nvlink_count : -1;
}

EXPORT int gpumap_device_nvlink(const gpumap_device *device, size_t i)
{
	if (!device || device->nvlink_count < 0 || i >= (size_t)device->nvlink_count)
		return -1;
	return device->nvlink[i];
}
