/* SPDX-License-Identifier: MIT */
/* The devices: how many there are, how they are found, and their properties. */
#include "pretend.h"

#include <stdio.h>

#include "text/pci.h"

static enum nvml_return give_number(unsigned int *ret, int64_t number)
{
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (number < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*ret = (unsigned int)number;
	return NVML_SUCCESS;
}

static enum nvml_return give_count(unsigned int *count)
{
	const struct machine *machine = machine_get();

	return machine ? give_number(count, (int64_t)machine->gpus) : NVML_ERROR_UNINITIALIZED;
}

SERVE_AS(give_count(count), nvmlDeviceGetCount, unsigned int *count)
SERVE_AS(give_count(count), nvmlDeviceGetCount_v2, unsigned int *count)

static enum nvml_return by_index(unsigned int index, struct nvml_handle **device)
{
	const struct machine *machine = machine_get();

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	if (!device || index >= machine->gpus)
		return NVML_ERROR_INVALID_ARGUMENT;
	return give_handle(device, &machine->units[index]);
}

SERVE_AS(by_index(index, device), nvmlDeviceGetHandleByIndex, unsigned int index,
	 struct nvml_handle **device)
SERVE_AS(by_index(index, device), nvmlDeviceGetHandleByIndex_v2, unsigned int index,
	 struct nvml_handle **device)

SERVE(nvmlDeviceGetHandleByUUID, const char *uuid, struct nvml_handle **device)
{
	const struct machine *machine = machine_get();

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < machine->count; i++)
		if (machine->units[i].device && streq(machine->units[i].uuid, uuid))
			return give_handle(device, &machine->units[i]);
	return NVML_ERROR_NOT_FOUND;
}

static enum nvml_return by_pci(const char *bus_id, struct nvml_handle **device)
{
	const struct machine *machine = machine_get();
	unsigned int domain, bus, slot;
	char pci[20];

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	if (!bus_id || !device || !pci_normalise(span_of(bus_id), pci) ||
	    sscanf(pci, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < machine->gpus; i++) {
		const struct unit *u = &machine->units[i];

		if (u->device && u->domain == domain && u->bus == bus && u->slot == slot)
			return give_handle(device, u);
	}
	return NVML_ERROR_NOT_FOUND;
}

SERVE_AS(by_pci(bus_id, device), nvmlDeviceGetHandleByPciBusId, const char *bus_id,
	 struct nvml_handle **device)
SERVE_AS(by_pci(bus_id, device), nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id,
	 struct nvml_handle **device)

SERVE(nvmlDeviceGetHandleBySerial, const char *serial, struct nvml_handle **device)
{
	return machine_get() ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}

SERVE(nvmlDeviceGetUUID, struct nvml_handle *device, char *text, unsigned int size)
{
	UNIT_OR_RETURN(u, device);
	return give_text(text, size, u->uuid);
}

SERVE(nvmlDeviceGetName, struct nvml_handle *device, char *text, unsigned int size)
{
	UNIT_OR_RETURN(u, device);
	const char *gpu = u->gpu->device->name ? u->gpu->device->name : "GPU";
	char name[512];

	if (u == u->gpu)
		return give_text(text, size, gpu);
	if (u->device->profile)
		snprintf(name, sizeof(name), "%s MIG %s", gpu, u->device->profile);
	else
		snprintf(name, sizeof(name), "%s MIG", gpu);
	return give_text(text, size, name);
}

SERVE(nvmlDeviceGetIndex, struct nvml_handle *device, unsigned int *index)
{
	UNIT_OR_RETURN(u, device);
	return give_number(index, u->index);
}

SERVE(nvmlDeviceGetMinorNumber, struct nvml_handle *device, unsigned int *minor)
{
	UNIT_OR_RETURN(u, device);
	return give_number(minor, u->gpu->device->minor);
}

void fill_pci(struct nvml_pci *ret, unsigned int domain, unsigned int bus, unsigned int slot)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->bus_id_legacy, sizeof(ret->bus_id_legacy), "%04X:%02X:%02X.0",
		 domain & 0xffff, bus & 0xff, slot & 0xff);
	snprintf(ret->bus_id, sizeof(ret->bus_id), "%08X:%02X:%02X.0", domain, bus, slot);
	ret->domain = domain;
	ret->bus = bus;
	ret->device = slot;
	ret->pci_device_id = NVML_VENDOR_NVIDIA; /* the model's half is not known */
}

/* Versions of the structure differ only in their length; `size` is the length of this one. */
static enum nvml_return give_pci(struct nvml_handle *device, void *ret, size_t size)
{
	struct nvml_pci pci;
	UNIT_OR_RETURN(u, device);

	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	fill_pci(&pci, u->gpu->domain, u->gpu->bus, u->gpu->slot);
	memcpy(ret, &pci, size);
	return NVML_SUCCESS;
}

SERVE_AS(give_pci(device, pci, offsetof(struct nvml_pci, pci_subsystem_id)), nvmlDeviceGetPciInfo,
	 struct nvml_handle *device, struct nvml_pci *pci)
SERVE_AS(give_pci(device, pci, offsetof(struct nvml_pci, bus_id)), nvmlDeviceGetPciInfo_v2,
	 struct nvml_handle *device, struct nvml_pci *pci)
SERVE_AS(give_pci(device, pci, sizeof(*pci)), nvmlDeviceGetPciInfo_v3, struct nvml_handle *device,
	 struct nvml_pci *pci)

/* nvitop cannot show a MIG instance without this figure. */
SERVE(nvmlDeviceGetBAR1MemoryInfo, struct nvml_handle *device, struct nvml_memory *memory)
{
	const unsigned long long total = 256ull << 20;
	UNIT_OR_RETURN(u, device);

	if (!memory || !u)
		return NVML_ERROR_INVALID_ARGUMENT;
	*memory = (struct nvml_memory){.total = total, .free = total};
	return NVML_SUCCESS;
}
