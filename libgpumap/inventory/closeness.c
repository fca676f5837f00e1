/* SPDX-License-Identifier: MIT */
/* How close GPUs of one host are to each other. */
#include "inventory/inventory.h"
#include "text/pci.h"

int64_t device_node(const gpumap_device *device)
{
	const char *numa = device->gpu->numa;

	return numa ? span_number((struct span){numa, strspn(numa, "0123456789")}, INT32_MAX) : -1;
}

struct site site_of(const gpumap_device *gpu)
{
	struct site site = {.gpu = gpu, .node = device_node(gpu), .bus = -1};

	if (gpu->pci)
		site.bus = pci_bus(gpu->pci, &site.domain);
	return site;
}

static bool has_link(const gpumap_device *from, const gpumap_device *to)
{
	size_t count = from->nvlink_count > 0 ? (size_t)from->nvlink_count : 0;
	size_t at = FIRST_PLACE(i, count, from->nvlink[i] < to->physical);

	return at < count && from->nvlink[at] == to->physical;
}

/* Buses below one bridge have neighbouring numbers. */
static int64_t bus_closeness(const struct site *a, const struct site *b)
{
	if (a->bus < 0 || b->bus < 0 || a->domain != b->domain)
		return 0;
	return 256 - (a->bus > b->bus ? a->bus - b->bus : b->bus - a->bus);
}

struct closeness site_closeness(const struct site *a, const struct site *b)
{
	return (struct closeness){
		.links = has_link(a->gpu, b->gpu) || has_link(b->gpu, a->gpu),
		.nodes = a->node >= 0 && a->node == b->node,
		.buses = bus_closeness(a, b),
	};
}

void closeness_add(struct closeness *sum, const struct closeness *more)
{
	sum->links += more->links;
	sum->nodes += more->nodes;
	sum->buses += more->buses;
}

int closeness_compare(const struct closeness *a, const struct closeness *b)
{
	if (a->links != b->links)
		return a->links < b->links ? -1 : 1;
	if (a->nodes != b->nodes)
		return a->nodes < b->nodes ? -1 : 1;
	return (a->buses > b->buses) - (a->buses < b->buses);
}
