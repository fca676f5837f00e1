/* SPDX-License-Identifier: MIT */
/* The GPUs of this host, from NVML. Asking NVML creates no CUDA context. */
#include "inventory/nvml.h"

#include <dlfcn.h>
#include <stdio.h>

#include "cpuset.h"
#include "inventory/host.h"
#include "memory.h"
#include "strbuf.h"
#include "text/pci.h"

/* Stores the list of a set; an empty set means that nothing is known. */
static bool member_set_bits(char **member, struct cpu_set set)
{
	struct strbuf buf = {0};
	CLEANUP_FREE char *list = NULL;

	cpu_set_write(&buf, set);
	list = strbuf_take(&buf);
	return list && (!*list || member_set(member, span_of(list)));
}

/* NVML is asked before /sys: nvidia-smi topo -m prints NVML's answer, and NVML may answer for a
 * recorded machine, whose addresses belong to other devices here. */
static int read_affinity(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *d)
{
	uint64_t cpus[8192 / 64] = {0}, nodes[1024 / 64] = {0};

	if (NVML_ASK(nvml, cpus, handle, sizeof(cpus) / sizeof(long), (void *)cpus) ==
		    NVML_SUCCESS &&
	    !member_set_bits(&d->cpus, (struct cpu_set){cpus, ARRAY_SIZE(cpus)}))
		return GPUMAP_ENOMEM;
	if (NVML_ASK(nvml, nodes, handle, sizeof(nodes) / sizeof(long), (void *)nodes,
		     NVML_SCOPE_NODE) == NVML_SUCCESS &&
	    !member_set_bits(&d->numa, (struct cpu_set){nodes, ARRAY_SIZE(nodes)}))
		return GPUMAP_ENOMEM;
	return host_affinity(d, "");
}

static bool member_set_text(char **member, const char *text)
{
	return !*text || member_set(member, span_of(text));
}

/* Keeps the first failure. That a GPU lacks the thing asked for (no PCI bus) is not a failure. */
static bool answered(enum nvml_return r, enum nvml_return *why)
{
	if (r != NVML_SUCCESS && r != NVML_ERROR_NOT_SUPPORTED && *why == NVML_SUCCESS)
		*why = r;
	return r == NVML_SUCCESS;
}

/* Queries that fail leave their members unknown; *why is the first failure. */
static int read_identity(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *d,
			 enum nvml_return *why)
{
	char uuid[NVML_UUID_SIZE + 1] = "", name[NVML_NAME_SIZE + 1] = "", pci[20] = "";
	struct nvml_memory memory = {0};
	struct nvml_pci info = {0};
	unsigned int minor;

	if (!answered(nvml->uuid(handle, uuid, NVML_UUID_SIZE), why))
		*uuid = '\0';
	if (!answered(nvml->name(handle, name, NVML_NAME_SIZE), why))
		*name = '\0';
	if (answered(nvml->pci(handle, &info), why))
		pci_of_numbers(info.domain, info.bus, info.device, pci);
	if (nvml->memory(handle, &memory) == NVML_SUCCESS && memory.total <= INT64_MAX)
		d->memory = (int64_t)memory.total;
	if (NVML_ASK(nvml, minor, handle, &minor) == NVML_SUCCESS && minor <= INT32_MAX)
		d->minor = (int)minor;
	return member_set_text(&d->uuid, uuid) && member_set_text(&d->name, name) &&
			       member_set_text(&d->pci, pci)
		       ? GPUMAP_OK
		       : GPUMAP_ENOMEM;
}

static void report_lost(gpumap_inventory *inventory, unsigned int index, enum nvml_return why,
			gpumap_report *report)
{
	if (why == NVML_ERROR_NO_PERMISSION) {
		report_add(
			report, FINDING_NOT_GRANTED,
			ABOUT(.rule = "L6", .fix = "ask for it where the container or job is made"),
			"GPU %u is counted, but this process may not open it", index);
		return;
	}
	inventory->partial = true;
	report_add(report, FINDING_PARTIAL_INVENTORY,
		   ABOUT(.rule = "E1", .fix = "see dmesg for Xid"), "GPU %u does not answer: %s",
		   index, nvml_text(why));
}

static int read_device(const struct nvml *nvml, unsigned int index, gpumap_inventory *inventory,
		       struct nvml_handle **handles, gpumap_report *report)
{
	struct nvml_handle *handle = NULL, *migs[MAX_MIG];
	enum nvml_return why = nvml->by_index(index, &handle);
	gpumap_device *d;
	int r;

	if (why != NVML_SUCCESS) {
		report_lost(inventory, index, why, report);
		inventory->left_out++;
		return GPUMAP_OK;
	}
	d = inventory_add(inventory);
	if (!d)
		return GPUMAP_ENOMEM;
	handles[inventory->count - 1] = handle;
	d->index = (int)index;
	r = read_identity(nvml, handle, d, &why);
	if (r == GPUMAP_OK)
		r = nvml_read_mig(nvml, handle, d, migs);
	if (r == GPUMAP_OK)
		r = read_affinity(nvml, handle, d);
	if (r == GPUMAP_OK && inventory->usage && why == NVML_SUCCESS)
		r = nvml_read_usage(nvml, handle, migs, d, &why, report);
	if (why != NVML_SUCCESS)
		report_lost(inventory, index, why, report);
	return r;
}

/* `only` NULL: all. */
static int read_devices(const struct nvml *nvml, unsigned int count, const bool *only,
			gpumap_inventory *inventory, gpumap_report *report)
{
	CLEANUP_FREE struct nvml_handle **handles = xcalloc(count + 1u, sizeof(*handles));
	int r = handles ? GPUMAP_OK : GPUMAP_ENOMEM;

	for (unsigned int i = 0; r == GPUMAP_OK && i < count; i++)
		if (!only || only[i])
			r = read_device(nvml, i, inventory, handles, report);
	if (r == GPUMAP_OK && !only)
		r = nvml_read_links(nvml, handles, inventory);
	if (r == GPUMAP_OK && inventory->usage && !usage_describe(inventory))
		r = GPUMAP_ENOMEM;
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

static int read_host(const struct nvml *nvml, const bool *only, gpumap_inventory *inventory,
		     enum nvml_return *why, gpumap_report *report)
{
	char version[NVML_VERSION_SIZE + 1] = "";
	unsigned int count = 0;
	int r;

	*why = nvml->count(&count);
	if (*why != NVML_SUCCESS)
		return GPUMAP_ENODRIVER;
	if (count > GPUMAP_MAX_DEVICES)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, NULL,
				   "NVML counts %u GPUs, more than %d", count, GPUMAP_MAX_DEVICES);
	if (nvml->driver_version(version, NVML_VERSION_SIZE) != NVML_SUCCESS ||
	    streq(version, NVML_MADE_UP_DRIVER))
		*version = '\0';
	if (*version && !member_set_text(&inventory->driver, version))
		return report_nomem(report);
	r = read_devices(nvml, count, only, inventory, report);
	return r == GPUMAP_OK ? inventory_finish(inventory, report) : r;
}

static int read_some(gpumap_inventory **ret, const struct nvml *nvml, bool usage, const bool *only,
		     enum nvml_return *why, gpumap_report *report)
{
	gpumap_inventory *inventory;
	int r;

	*why = nvml->init();
	if (*why != NVML_SUCCESS)
		return GPUMAP_ENODRIVER;
	inventory = inventory_new("nvml", NULL);
	if (inventory)
		inventory->usage = usage;
	r = inventory ? read_host(nvml, only, inventory, why, report) : report_nomem(report);
	nvml->shutdown();
	return give_inventory(ret, inventory, r);
}

int nvml_read(gpumap_inventory **ret, const struct nvml *nvml, bool usage, enum nvml_return *why,
	      gpumap_report *report)
{
	return read_some(ret, nvml, usage, NULL, why, report);
}

int nvml_read_again(gpumap_inventory **ret, const struct nvml *nvml, const bool *only)
{
	enum nvml_return why;

	return nvml->library ? read_some(ret, nvml, true, only, &why, NULL) : GPUMAP_ENODRIVER;
}

void nvml_hold(struct nvml *ret)
{
	const char *missing;

	if (nvml_open(ret, &missing) != NVML_SUCCESS || ret->init() == NVML_SUCCESS)
		return;
	dlclose(ret->library);
	ret->library = NULL;
}

void nvml_release(struct nvml *nvml)
{
	if (!nvml->library)
		return;
	nvml->shutdown();
	dlclose(nvml->library);
	nvml->library = NULL;
}

int nvml_probe(gpumap_inventory **ret, bool usage, enum nvml_return *why, gpumap_report *report)
{
	const char *missing;
	struct nvml nvml;
	int r;

	*why = nvml_open(&nvml, &missing);
	if (*why != NVML_SUCCESS)
		return GPUMAP_ENODRIVER;
	r = nvml_read(ret, &nvml, usage, why, report);
	dlclose(nvml.library);
	return r;
}
