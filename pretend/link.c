/* SPDX-License-Identifier: MIT */
/* How devices are connected to each other, to CPUs and to memory. */
#include "pretend.h"

enum { BEHIND_SWITCH = 7 }; /* no machine connects eight GPUs directly with each other */

static bool behind_switch(const struct unit *u)
{
	size_t others = machine_get()->inventory->count - 1;

	return u->device->nvlink_count >= BEHIND_SWITCH &&
	       (size_t)u->device->nvlink_count == others;
}

/* The other end of link number `link`. A code other than NVML_SUCCESS: there is no such link. */
static enum nvml_return link_get(struct nvml_handle *device, unsigned int link,
				 const struct unit **peer, bool *to_switch)
{
	const struct machine *machine = machine_get();
	int links, index;
	UNIT_OR_RETURN(u, device);

	if (u != u->gpu || link >= NVML_MAX_LINKS)
		return NVML_ERROR_INVALID_ARGUMENT;
	*to_switch = behind_switch(u);
	*peer = NULL;
	links = *to_switch ? 1 : u->device->nvlink_count;
	if (links <= 0)
		return NVML_ERROR_NOT_SUPPORTED;
	if (link >= (unsigned int)links)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (*to_switch)
		return NVML_SUCCESS;
	index = u->device->nvlink[link];
	if (index >= 0 && (size_t)index < machine->gpus)
		*peer = &machine->units[index];
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetNvLinkState, struct nvml_handle *device, unsigned int link, unsigned int *active)
{
	const struct unit *peer;
	bool to_switch;
	enum nvml_return r = link_get(device, link, &peer, &to_switch);

	if (r == NVML_SUCCESS && !active)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*active = to_switch || peer;
	return r;
}

SERVE(nvmlDeviceGetNvLinkRemoteDeviceType, struct nvml_handle *device, unsigned int link,
      enum nvml_link_type *type)
{
	const struct unit *peer;
	bool to_switch;
	enum nvml_return r = link_get(device, link, &peer, &to_switch);

	if (r == NVML_SUCCESS && !type)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*type = to_switch ? NVML_LINK_TO_SWITCH : NVML_LINK_TO_GPU;
	return r;
}

static enum nvml_return give_remote(struct nvml_handle *device, unsigned int link, void *ret,
				    size_t size)
{
	const struct unit *peer;
	struct nvml_pci pci;
	bool to_switch;
	enum nvml_return r = link_get(device, link, &peer, &to_switch);

	if (r != NVML_SUCCESS)
		return r;
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!to_switch && !peer)
		return NVML_ERROR_NOT_SUPPORTED;
	if (peer)
		fill_pci(&pci, peer->domain, peer->bus, peer->slot);
	else
		fill_pci(&pci, 0xffff, 0, 0); /* an address without a GPU */
	memcpy(ret, &pci, size);
	return NVML_SUCCESS;
}

SERVE_AS(give_remote(device, link, pci, offsetof(struct nvml_pci, bus_id)),
	 nvmlDeviceGetNvLinkRemotePciInfo, struct nvml_handle *device, unsigned int link,
	 struct nvml_pci *pci)
SERVE_AS(give_remote(device, link, pci, sizeof(*pci)), nvmlDeviceGetNvLinkRemotePciInfo_v2,
	 struct nvml_handle *device, unsigned int link, struct nvml_pci *pci)

/* Sets the bits of a list such as "0-31,64-95". */
static enum nvml_return give_bits(const char *list, unsigned int size, unsigned long *set)
{
	const unsigned int width = 8 * sizeof(*set);
	struct span rest, piece;

	if (!size || !set)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!list || !*list)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(set, 0, size * sizeof(*set));
	rest = span_of(list);
	while (span_split(&rest, ',', &piece)) {
		struct span from = {NULL, 0}, to = span_trim(piece);
		int64_t first, last;

		if (!span_split(&to, '-', &from))
			return NVML_ERROR_NOT_SUPPORTED;
		first = span_number(from, INT32_MAX);
		last = to.text ? span_number(to, INT32_MAX) : first;
		if (first < 0 || last < first)
			return NVML_ERROR_NOT_SUPPORTED;
		if ((uint64_t)last / width >= size)
			return NVML_ERROR_INSUFFICIENT_SIZE;
		for (; first <= last; first++)
			set[first / width] |= 1ul << first % width;
	}
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetCpuAffinity, struct nvml_handle *device, unsigned int size, unsigned long *set)
{
	UNIT_OR_RETURN(u, device);
	return give_bits(u->gpu->device->cpus, size, set);
}

SERVE(nvmlDeviceGetCpuAffinityWithinScope, struct nvml_handle *device, unsigned int size,
      unsigned long *set, enum nvml_scope scope)
{
	UNIT_OR_RETURN(u, device);
	return give_bits(u->gpu->device->cpus, size, set);
}

SERVE(nvmlDeviceGetMemoryAffinity, struct nvml_handle *device, unsigned int size,
      unsigned long *set, enum nvml_scope scope)
{
	UNIT_OR_RETURN(u, device);
	return give_bits(u->gpu->device->numa, size, set);
}

/* The inventory has NUMA nodes, but not the bridges below them. */
static enum nvml_return ancestor(const struct unit *a, const struct unit *b,
				 enum nvml_topology *level)
{
	const char *x = a->gpu->device->numa, *y = b->gpu->device->numa;

	if (a->gpu == b->gpu)
		*level = NVML_TOPOLOGY_INTERNAL;
	else if (!x || !y)
		return NVML_ERROR_NOT_SUPPORTED;
	else
		*level = streq(x, y) ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetTopologyCommonAncestor, struct nvml_handle *a, struct nvml_handle *b,
      enum nvml_topology *level)
{
	UNIT_OR_RETURN(x, a);
	UNIT_OR_RETURN(y, b);
	return level ? ancestor(x, y, level) : NVML_ERROR_INVALID_ARGUMENT;
}

SERVE(nvmlDeviceGetTopologyNearestGpus, struct nvml_handle *device, enum nvml_topology level,
      unsigned int *count, struct nvml_handle **devices)
{
	const struct machine *machine = machine_get();
	unsigned int n = 0;
	UNIT_OR_RETURN(u, device);

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < machine->gpus; i++) {
		const struct unit *other = &machine->units[i];
		enum nvml_topology between;

		if (!other->device || other == u->gpu ||
		    ancestor(u, other, &between) != NVML_SUCCESS || between != level)
			continue;
		if (devices && n < *count)
			give_handle(&devices[n], other);
		n++;
	}
	if (devices && n > *count)
		n = *count;
	*count = n;
	return NVML_SUCCESS;
}

/* Peer access by NVLink is known. By PCI it depends on facts that an inventory lacks. */
SERVE(nvmlDeviceGetP2PStatus, struct nvml_handle *a, struct nvml_handle *b, int what, int *status)
{
	enum { BY_NVLINK = 2, OK = 0, NOT_SUPPORTED = 5, UNKNOWN = 6 };
	UNIT_OR_RETURN(x, a);
	UNIT_OR_RETURN(y, b);

	if (!status)
		return NVML_ERROR_INVALID_ARGUMENT;
	*status = UNKNOWN;
	if (what != BY_NVLINK || x->gpu->device->nvlink_count < 0)
		return NVML_SUCCESS;
	*status = NOT_SUPPORTED;
	for (int i = 0; i < x->gpu->device->nvlink_count; i++)
		if (x->gpu->device->nvlink[i] == (int)y->gpu->index)
			*status = OK;
	return NVML_SUCCESS;
}
