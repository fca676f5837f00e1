/* SPDX-License-Identifier: MIT */
/* How two GPUs are connected, as NVML gives it: NVLink or the common bridge. */
#include "inventory/nvml.h"

#include "memory.h"
#include "text/pci.h"

/* The other ends of the links of one GPU. */
struct links {
	bool known, to_switch;
	int count, neighbours[NVML_MAX_LINKS];
};

static bool is_switch(enum nvml_link_type type, const struct nvml_pci *remote)
{
	/* Drivers before 470 do not report the type. A switch is an NVIDIA device that is not a
	 * GPU. */
	if (type == NVML_LINK_TO_UNKNOWN)
		return (remote->pci_device_id & 0xffff) == NVML_VENDOR_NVIDIA;
	return type == NVML_LINK_TO_SWITCH;
}

static void read_link(const struct nvml *nvml, struct nvml_handle *handle, unsigned int link,
		      gpumap_inventory *inventory, struct links *links)
{
	enum nvml_link_type type = NVML_LINK_TO_UNKNOWN;
	struct nvml_pci remote = {0};
	const gpumap_device *peer = NULL;
	char pci[20];

	if (NVML_ASK(nvml, link_type, handle, link, &type) == NVML_SUCCESS &&
	    type == NVML_LINK_TO_SWITCH) {
		links->to_switch = true;
		return;
	}
	if (NVML_ASK(nvml, link_pci, handle, link, &remote) != NVML_SUCCESS)
		return;
	if (pci_of_numbers(remote.domain, remote.bus, remote.device, pci))
		peer = inventory_by_pci(inventory, pci);
	if (peer)
		links->neighbours[links->count++] = peer->index;
	else if (is_switch(type, &remote))
		links->to_switch = true;
}

static void read_gpu(const struct nvml *nvml, struct nvml_handle *handle,
		     gpumap_inventory *inventory, struct links *links)
{
	for (unsigned int i = 0; i < NVML_MAX_LINKS && !links->to_switch; i++) {
		unsigned int active = 0;
		enum nvml_return r = NVML_ASK(nvml, link_state, handle, i, &active);

		if (r == NVML_ERROR_FUNCTION_NOT_FOUND || r == NVML_ERROR_INVALID_ARGUMENT)
			return;
		/* GPUs without links, and unused links, answer "not supported". */
		if (r == NVML_SUCCESS || r == NVML_ERROR_NOT_SUPPORTED)
			links->known = true;
		if (r == NVML_SUCCESS && active)
			read_link(nvml, handle, i, inventory, links);
	}
}

/* All GPUs on switches reach each other, as topo -m shows them: switches of two boards are
 * connected. */
static size_t all_neighbours(const struct links *links, size_t self,
			     const gpumap_inventory *inventory, int *ret)
{
	size_t n = 0;

	for (int i = 0; i < links[self].count; i++)
		ret[n++] = links[self].neighbours[i];
	if (!links[self].to_switch)
		return n;
	for (size_t i = 0; i < inventory->count; i++)
		if (i != self && links[i].to_switch)
			ret[n++] = inventory->gpus[i].index;
	return n;
}

int nvml_read_links(const struct nvml *nvml, struct nvml_handle *const *handles,
		    gpumap_inventory *inventory)
{
	const size_t count = inventory->count;
	CLEANUP_FREE struct links *links = xcalloc(count + 1, sizeof(*links));
	CLEANUP_FREE int *neighbours = xcalloc(count + NVML_MAX_LINKS, sizeof(*neighbours));
	int r = links && neighbours ? GPUMAP_OK : GPUMAP_ENOMEM;

	for (size_t i = 0; r == GPUMAP_OK && i < count; i++)
		read_gpu(nvml, handles[i], inventory, &links[i]);
	for (size_t i = 0; r == GPUMAP_OK && i < count; i++) {
		if (!links[i].known)
			continue;
		if (!device_set_nvlink(&inventory->gpus[i], neighbours,
				       all_neighbours(links, i, inventory, neighbours)))
			r = GPUMAP_ENOMEM;
	}
	return r;
}
