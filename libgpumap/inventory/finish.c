/* SPDX-License-Identifier: MIT */
/* Puts an inventory in order, and makes the checks that need all GPUs. */
#include "inventory/inventory.h"

#include "memory.h"
#include "text/pci.h"

struct key {
	gpumap_device *device;
	const char *text;
};

static int by_index(const void *a, const void *b)
{
	const gpumap_device *x = a, *y = b;
	unsigned i = (unsigned)x->index, j = (unsigned)y->index; /* -1 sorts last */

	if (i == j) /* keep the order of arrival, which inventory_finish() leaves in `physical` */
		return (x->physical > y->physical) - (x->physical < y->physical);
	return i < j ? -1 : 1;
}

/* Compares PCI addresses by value. Any order is good for UUIDs. */
static int by_text(const void *a, const void *b)
{
	return pci_compare(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* Fills keys with the GPUs that have this member, sorted by it. Returns their number. */
static size_t sorted_keys(gpumap_inventory *inventory, struct key *keys, size_t member)
{
	size_t n = 0;

	for (size_t i = 0; i < inventory->count; i++) {
		gpumap_device *d = &inventory->gpus[i];
		const char *text = *(char **)((char *)d + member);

		if (text)
			keys[n++] = (struct key){d, text};
	}
	qsort(keys, n, sizeof(*keys), by_text);
	return n;
}

static int check_unique(gpumap_inventory *inventory, struct key *keys, size_t member,
			const char *what, gpumap_report *report)
{
	size_t n = sorted_keys(inventory, keys, member);

	for (size_t i = 1; i < n; i++)
		if (streq(keys[i - 1].text, keys[i].text))
			return report_fail(report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
					   ABOUT(.origin = inventory->origin,
						 .fix = "record one machine at a time"),
					   "two GPUs have the %s %s", what, keys[i].text);
	return GPUMAP_OK;
}

/* nvidia-smi numbers by PCI address, so a GPU's rank among all addresses is its number. */
static void number_gpus(gpumap_inventory *inventory, struct key *keys, bool indexed,
			gpumap_report *report)
{
	size_t count = inventory->count;
	bool known = inventory->doubt < 0 &&
		     sorted_keys(inventory, keys, offsetof(gpumap_device, pci)) == count;

	for (size_t i = 0; i < count; i++)
		inventory->gpus[i].physical = indexed ? inventory->gpus[i].index : -1;
	for (size_t i = 0; i < count && !indexed && known; i++)
		keys[i].device->physical = (int)i;
	if (indexed || known)
		return;
	inventory->doubt = 0;
	report_add(report, FINDING_UNNUMBERED,
		   ABOUT(.rule = "N1", .origin = inventory->origin,
			 .fix = "record the machine with nvidia-smi -L"),
		   "the numbers of the GPUs are not known, so neither is which one cuda:0 is");
}

static void connect(gpumap_device *gpu)
{
	gpu->gpu = gpu;
	for (size_t i = 0; i < gpu->mig_count; i++) {
		gpu->mig[i].gpu = gpu;
		gpu->mig[i].physical = gpu->physical;
		gpu->mig[i].mig_position = (int)i;
	}
	usage_finish(gpu);
}

int inventory_finish(gpumap_inventory *inventory, gpumap_report *report)
{
	CLEANUP_FREE struct key *keys = xmalloc((inventory->count + 1) * sizeof(*keys));
	struct model model = {0};
	bool indexed = true;
	int r;

	if (!keys)
		return report_nomem(report);
	for (size_t i = 0; i < inventory->count; i++)
		inventory->gpus[i].physical = (int)i;
	if (inventory->count)
		qsort(inventory->gpus, inventory->count, sizeof(*inventory->gpus), by_index);
	r = check_unique(inventory, keys, offsetof(gpumap_device, uuid), "UUID", report);
	if (r == GPUMAP_OK)
		r = check_unique(inventory, keys, offsetof(gpumap_device, pci), "PCI address",
				 report);
	for (size_t i = 0; r == GPUMAP_OK && i < inventory->count; i++) {
		gpumap_device *d = &inventory->gpus[i];

		indexed = indexed && d->index >= 0;
		if (i && d->index >= 0 && d->index == d[-1].index)
			r = report_fail(report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
					ABOUT(.origin = inventory->origin,
					      .fix = "record one machine at a time"),
					"two GPUs have the index %d", d->index);
	}
	if (r == GPUMAP_OK)
		number_gpus(inventory, keys, indexed, report);
	inventory->one_model = true;
	for (size_t i = 0; i < inventory->count; i++) {
		gpumap_device *d = &inventory->gpus[i];

		inventory->one_model = inventory->one_model && model_add(&model, d);
		connect(d);
	}
	return r;
}
