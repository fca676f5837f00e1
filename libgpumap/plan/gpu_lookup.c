/* SPDX-License-Identifier: MIT */
/* Finds devices of an inventory by number, UUID and PCI address; a whole list costs n log n. */
#include "plan/build.h"

#include "visible/uuid.h"

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

/* The inventory as visible lists see a host. */
static bool make_view(struct builder *b, const gpumap_inventory *inventory,
		      struct device_index *index)
{
	size_t migs = device_total(inventory) - inventory->count;
	struct visible_mig *mig = arena_alloc(&b->temp, migs + 1, sizeof(*mig));

	index->view.uuids = arena_alloc(&b->temp, inventory->count + 1, sizeof(char *));
	index->migs = arena_alloc(&b->temp, migs + 1, sizeof(*index->migs));
	if (!mig || !index->view.uuids || !index->migs)
		return false;
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		index->view.uuids[index->view.uuid_count++] = gpu->uuid;
		for (size_t m = 0; m < gpu->mig_count; m++) {
			const gpumap_device *d = &gpu->mig[m];

			mig[index->view.mig_count] =
				(struct visible_mig){d->uuid, (int)i, d->gi, d->ci};
			index->migs[index->view.mig_count++] = d;
		}
	}
	index->view.migs = mig;
	return true;
}

static bool add_names(struct builder *b, const gpumap_inventory *inventory,
		      struct device_index *index)
{
	size_t total = device_total(inventory);

	index->names = arena_alloc(&b->temp, total + inventory->count + 1, sizeof(*index->names));
	if (!index->names || !make_view(b, inventory, index) ||
	    uuids_sort(&index->uuids, &index->view, false) != GPUMAP_OK)
		return false;
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		add_name(index, gpu->uuid, gpu);
		add_name(index, gpu->pci, gpu);
		for (size_t m = 0; m < gpu->mig_count; m++)
			add_name(index, gpu->mig[m].uuid, &gpu->mig[m]);
	}
	qsort(index->names, index->name_count, sizeof(*index->names), by_text);
	return true;
}

int device_index_make(struct builder *b, const gpumap_inventory *inventory, bool named,
		      struct device_index *index)
{
	*index = (struct device_index){.gpus = inventory->gpus};
	index->numbers = arena_alloc(&b->temp, inventory->count + 1, sizeof(*index->numbers));
	if (!index->numbers || (named && !add_names(b, inventory, index)))
		return plan_nomem(b);
	for (size_t i = 0; i < inventory->count; i++)
		index->numbers[index->number_count++] = &inventory->gpus[i];
	qsort(index->numbers, index->number_count, sizeof(*index->numbers), by_number);
	return GPUMAP_OK;
}

void device_index_free(struct device_index *index)
{
	uuids_free(&index->uuids);
}

const gpumap_device *device_by_number(const struct device_index *index, int64_t number)
{
	size_t low = FIRST_PLACE(i, index->number_count, index->numbers[i]->physical < number);

	return low < index->number_count && index->numbers[low]->physical == number
		       ? index->numbers[low]
		       : NULL;
}

const gpumap_device *device_by_uuid(const struct device_index *index, struct span text,
				    bool *several)
{
	bool mig = span_starts(text, "MIG-");
	int at = -1;
	enum visible_end end = mig ? uuids_find_mig(&index->uuids, text, &at)
				   : uuids_find_gpu(&index->uuids, text, &at);

	*several = end == END_AMBIGUOUS;
	if (end != END_NOT)
		return NULL;
	return mig ? index->migs[at] : &index->gpus[at];
}

const gpumap_device *device_by_name(const struct device_index *index, const char *text)
{
	struct device_name key = {text, NULL};
	const struct device_name *found =
		bsearch(&key, index->names, index->name_count, sizeof(*index->names), by_text);

	return found ? found->device : NULL;
}

const gpumap_device *device_original(const struct device_index *index, const gpumap_device *device)
{
	const gpumap_device *gpu = device->uuid ? device_by_name(index, device->uuid) : NULL;

	if (gpu)
		return gpu;
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
