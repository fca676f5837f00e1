/* SPDX-License-Identifier: MIT */
/* The outermost view: a copy of the inventory. */
#include "resolve/resolve.h"

static gpumap_device *copy_device(struct arena *arena, gpumap_device *to, const gpumap_device *from)
{
	*to = *from;
	to->uuid = arena_strdup(arena, from->uuid);
	to->pci = arena_strdup(arena, from->pci);
	to->name = arena_strdup(arena, from->name);
	to->numa = arena_strdup(arena, from->numa);
	to->cpus = arena_strdup(arena, from->cpus);
	to->profile = arena_strdup(arena, from->profile);
	to->nvlink = NULL; /* not needed in an answer */
	to->nvlink_count = -1;
	usage_forget(to);
	to->gpu = to;
	to->mig = from->mig_count ? arena_alloc(arena, from->mig_count, sizeof(*to->mig)) : NULL;
	for (size_t i = 0; to->mig && i < from->mig_count; i++)
		copy_device(arena, &to->mig[i], &from->mig[i])->gpu = to;
	return to;
}

/* The places of the inventory's GPUs in the host's array, which is in nvidia-smi's order. Numbers
 * that the inventory lacks (a recording was cut, a GPU is lost) have a place there too, so that
 * later numbers keep their meaning. */
struct layout {
	size_t count;
	bool by_number; /* a GPU's place is its number */
};

enum { MAX_GAP = 64 };

static struct layout find_layout(const gpumap_inventory *inventory)
{
	size_t room = 0;

	if (inventory_unnumbered(inventory))
		return (struct layout){inventory->count, false};
	for (size_t i = 0; i < inventory->count; i++)
		if ((size_t)inventory->gpus[i].physical >= room)
			room = (size_t)inventory->gpus[i].physical + 1;
	/* A measured order names all devices. */
	if (room == inventory->count ||
	    (room <= inventory->count + MAX_GAP && !inventory->order[GPUMAP_ORDER_FASTEST]))
		return (struct layout){room, true};
	return (struct layout){inventory->count, false};
}

static size_t place(const gpumap_inventory *inventory, struct layout layout, size_t i)
{
	return layout.by_number ? (size_t)inventory->gpus[i].physical : i;
}

/* The measured order as places; NULL: there is none. */
static const int *copy_order(struct resolver *resolver, struct layout layout)
{
	const gpumap_inventory *inventory = resolver->inventory;
	const int *measured = inventory->order[GPUMAP_ORDER_FASTEST];
	int *order;

	if (!measured)
		return NULL;
	order = arena_alloc(resolver->arena, layout.count, sizeof(*order));
	for (size_t i = 0; order && i < layout.count; i++) {
		if (measured[i] < 0 || (size_t)measured[i] >= inventory->count)
			return NULL;
		order[i] = (int)place(inventory, layout, (size_t)measured[i]);
	}
	return order;
}

static void note_gaps(struct resolver *resolver)
{
	const gpumap_device *host = resolver->host;
	size_t missing = resolver->host_count - resolver->inventory->count, first = 0;

	while (host[first].index == (int)first &&
	       (host[first].uuid || host[first].pci || host[first].name || host[first].memory >= 0))
		first++;
	resolver->gaps = true;
	resolver->mapping->assumption = arena_printf(
		resolver->arena, "the inventory leaves out %zu GPU%s, from GPU %zu on; %s.",
		missing, missing == 1 ? "" : "s", first,
		resolver->inventory->doubt >= 0 ? "whether CUDA counts such GPUs is not known"
		: missing == 1                  ? "it is taken as existing"
						: "they are taken as existing");
}

/* "; the model H1000 is not known": it can be new, or misspelt. */
static const char *unknown_model(struct arena *arena, const gpumap_inventory *assumed)
{
	for (size_t i = 0; i < assumed->count; i++)
		if (assumed->gpus[i].name && assumed->gpus[i].memory < 0)
			return arena_printf(arena, "; the model %s is not known",
					    assumed->gpus[i].name);
	return "";
}

static void copy_host(struct resolver *resolver)
{
	const gpumap_inventory *inventory = resolver->inventory;
	struct arena *arena = resolver->arena;
	struct layout layout = find_layout(inventory);
	gpumap_device *host = arena_alloc(arena, layout.count, sizeof(*host));

	if (!host)
		return;
	for (size_t i = 0; i < layout.count; i++) {
		host[i] = assumed_device((int)i, NULL);
		host[i].gpu = &host[i];
	}
	for (size_t i = 0; i < inventory->count; i++)
		copy_device(arena, &host[place(inventory, layout, i)], &inventory->gpus[i]);
	resolver->host = host;
	resolver->host_count = layout.count;
	resolver->fastest = copy_order(resolver, layout);
	resolver->assumed = inventory->assumed;
	if (!resolver->driver)
		resolver->driver = inventory->driver;
	if (layout.count > inventory->count)
		note_gaps(resolver);
	if (inventory->assumed && inventory->count && inventory->gpus[0].name)
		resolver->mapping->assumption = arena_printf(
			arena,
			"the machine %s was not examined; its GPUs are assumed to exist, in "
			"PCI bus order%s.",
			inventory->origin, unknown_model(arena, inventory));
	else if (inventory->assumed)
		resolver->mapping->assumption =
			inventory->count == 1
				? "1 unnamed GPU."
				: arena_printf(arena,
					       "%zu unnamed GPUs of one model, in PCI bus order.",
					       inventory->count);
}

int host_prepare(struct resolver *resolver)
{
	struct view *view = &resolver->view;
	int r = GPUMAP_OK;

	resolver->driver = resolver->request->values[KEY_driver];
	if (!resolver->inventory)
		r = assume_host(resolver);
	else if (!resolver->inventory->no_gpu) /* GPUs found on the bus can be listed, not used */
		copy_host(resolver);
	if (r != GPUMAP_OK)
		return r;
	if (resolver->inventory && resolver->inventory->partial)
		report_add(resolver->report, FINDING_PARTIAL_INVENTORY,
			   ABOUT(.rule = "N1", .origin = resolver->inventory->origin,
				 .fix = "record the whole machine again"),
			   "the inventory is incomplete: there may be more GPUs");
	view->devices = arena_alloc(resolver->arena, resolver->host_count, sizeof(*view->devices));
	for (size_t i = 0; view->devices && i < resolver->host_count; i++)
		view->devices[view->count++] = &resolver->host[i];
	return GPUMAP_OK;
}
