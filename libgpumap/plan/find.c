/* SPDX-License-Identifier: MIT */
/* Finds devices of an inventory by number, UUID and PCI address; a whole list costs n log n. */
#include "plan/build.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct device_name *)a)->text, ((const struct device_name *)b)->text);
}

static int by_number(const void *a, const void *b)
{
	const gpumap_device *x = *(const gpumap_device *const *)a,
			    *y = *(const gpumap_device *const *)b;

	return (x->physical > y->physical) - (x->physical < y->physical);
}

static void add_name(struct device_index *index, const char *text, const gpumap_device *device)
{
	if (text)
		index->names[index->name_count++] = (struct device_name){text, device};
}

int device_index_make(struct builder *b, const gpumap_inventory *inventory,
		      struct device_index *ret)
{
	size_t total = device_total(inventory);
	struct device_index index = {0};

	index.names = arena_alloc(&b->temp, total + inventory->count + 1, sizeof(*index.names));
	index.numbers = arena_alloc(&b->temp, inventory->count + 1, sizeof(*index.numbers));
	if (!index.names || !index.numbers)
		return plan_nomem(b);
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		index.numbers[index.number_count++] = gpu;
		add_name(&index, gpu->uuid, gpu);
		add_name(&index, gpu->pci, gpu);
		for (size_t m = 0; m < gpu->mig_count; m++)
			add_name(&index, gpu->mig[m].uuid, &gpu->mig[m]);
	}
	qsort(index.names, index.name_count, sizeof(*index.names), by_text);
	qsort(index.numbers, index.number_count, sizeof(*index.numbers), by_number);
	*ret = index;
	return GPUMAP_OK;
}

const gpumap_device *device_by_number(const struct device_index *index, int64_t number)
{
	size_t low = 0, high = index->number_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->numbers[middle]->physical < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < index->number_count && index->numbers[low]->physical == number
		       ? index->numbers[low]
		       : NULL;
}

/* The first name that is not before `text`. */
static size_t first_name(const struct device_index *index, struct span text)
{
	size_t low = 0, high = index->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(index->names[middle].text, text.text, text.length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const gpumap_device *device_by_uuid(const struct device_index *index, struct span prefix,
				    bool *several)
{
	size_t i = first_name(index, prefix), n = 0;

	while (i + n < index->name_count && n < 2 &&
	       strncmp(index->names[i + n].text, prefix.text, prefix.length) == 0)
		n++;
	/* An exact name comes before longer names that begin with it. */
	if (n > 1 && strlen(index->names[i].text) == prefix.length)
		n = 1;
	*several = n > 1;
	return n == 1 ? index->names[i].device : NULL;
}

const gpumap_device *device_by_pci(const struct device_index *index, const char *pci)
{
	size_t i = first_name(index, span_of(pci));

	return i < index->name_count && streq(index->names[i].text, pci) ? index->names[i].device
									 : NULL;
}

const gpumap_device *device_original(const struct device_index *index, const gpumap_device *device)
{
	const gpumap_device *gpu;
	bool several;

	if (device->uuid) {
		gpu = device_by_uuid(index, span_of(device->uuid), &several);
		if (gpu)
			return gpu;
	}
	gpu = device->physical >= 0 ? device_by_number(index, device->physical) : NULL;
	if (!gpu || (device->uuid && gpu->uuid && device->mig_position < 0))
		return NULL;
	if (device->mig_position < 0)
		return gpu;
	return (size_t)device->mig_position < gpu->mig_count ? &gpu->mig[device->mig_position]
							     : NULL;
}

/* Places: GPU i is at i; MIG instances follow all GPUs, MAX_MIG for each. */

size_t device_total(const gpumap_inventory *inventory)
{
	size_t total = inventory->count;

	for (size_t i = 0; i < inventory->count; i++)
		total += inventory->gpus[i].mig_count;
	return total;
}

size_t device_places(const gpumap_inventory *inventory)
{
	bool migs = device_total(inventory) > inventory->count;

	return inventory->count * (migs ? 1 + MAX_MIG : 1);
}

size_t device_place(const gpumap_inventory *inventory, const gpumap_device *device)
{
	size_t gpu = (size_t)(device->gpu - inventory->gpus);

	return device == device->gpu
		       ? gpu
		       : inventory->count + gpu * MAX_MIG + (size_t)device->mig_position;
}
