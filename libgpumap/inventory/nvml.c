/* SPDX-License-Identifier: MIT */
/* The GPUs of this host as NVML tells them. Asking NVML creates no CUDA context. */
#include "inventory/nvml.h"

#include <dlfcn.h>
#include <stdio.h>

#include "inventory/host.h"
#include "strbuf.h"

const char *nvml_text(enum nvml_return code)
{
	switch (code) {
#define RETURN_TEXT(value, name, text) \
	case name: \
		return text;
		NVML_RETURNS(RETURN_TEXT)
#undef RETURN_TEXT
	default:
		return "unknown error";
	}
}

static const struct {
	enum nvml_need need;
	size_t member;
	const char *symbol;
} functions[] = {
#define FUNCTION(need, member, symbol, parameters) {need, offsetof(struct nvml, member), #symbol},
	NVML_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static enum nvml_return nvml_open(struct nvml *nvml)
{
	memset(nvml, 0, sizeof(*nvml));
	nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library)
		return NVML_ERROR_LIBRARY_NOT_FOUND;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *p = dlsym(nvml->library, functions[i].symbol);

		if (!p && functions[i].need == NVML_NEEDED) {
			dlclose(nvml->library);
			return NVML_ERROR_FUNCTION_NOT_FOUND;
		}
		/* A copy, as C has no cast from an object's address to a function's. */
		memcpy((char *)nvml + functions[i].member, &p, sizeof(p));
	}
	return NVML_SUCCESS;
}

char *bits_as_list(const unsigned long *set, size_t words)
{
	const size_t width = 8 * sizeof(*set), end = words * width;
	struct strbuf list = {0};
	size_t first = 0;

#define IS_SET(i) ((i) < end && set[(i) / width] >> (i) % width & 1)
	for (size_t i = 0; i < end; i++) {
		if (!IS_SET(i))
			continue;
		if (i == 0 || !IS_SET(i - 1))
			first = i;
		if (IS_SET(i + 1))
			continue;
		strbuf_printf(&list, list.length ? ",%zu" : "%zu", first);
		if (i > first)
			strbuf_printf(&list, "-%zu", i);
	}
#undef IS_SET
	return strbuf_take(&list);
}

/* Stores the list of a set; an empty one says nothing. */
static bool member_set_bits(char **member, const unsigned long *set, size_t words)
{
	CLEANUP_FREE char *list = bits_as_list(set, words);

	return list && (!*list || member_set(member, span_of(list)));
}

/* NVML before /sys: it is what nvidia-smi topo -m prints, and it answers for
 * recorded machines too, whose addresses may belong to other devices here. */
static int read_affinity(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *d)
{
	enum { CPU_WORDS = 8192 / 8 / sizeof(long), NODE_WORDS = 1024 / 8 / sizeof(long) };
	unsigned long cpus[CPU_WORDS] = {0}, nodes[NODE_WORDS] = {0};

	if (NVML_ASK(nvml, cpus, handle, CPU_WORDS, cpus) == NVML_SUCCESS &&
	    !member_set_bits(&d->cpus, cpus, CPU_WORDS))
		return GPUMAP_ENOMEM;
	if (NVML_ASK(nvml, nodes, handle, NODE_WORDS, nodes, NVML_SCOPE_NODE) == NVML_SUCCESS &&
	    !member_set_bits(&d->numa, nodes, NODE_WORDS))
		return GPUMAP_ENOMEM;
	return host_affinity(d, "");
}

static bool member_set_text(char **member, const char *text)
{
	return !*text || member_set(member, span_of(text));
}

/* Keeps the first failure; a GPU without the thing asked for (no PCI bus) is none. */
static bool answered(enum nvml_return r, enum nvml_return *why)
{
	if (r != NVML_SUCCESS && r != NVML_ERROR_NOT_SUPPORTED && *why == NVML_SUCCESS)
		*why = r;
	return r == NVML_SUCCESS;
}

/* What a query does not answer stays unknown; *why is the first failure. */
static int read_identity(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *d,
			 enum nvml_return *why)
{
	char uuid[NVML_UUID_SIZE + 1] = "", name[NVML_NAME_SIZE + 1] = "", address[40] = "",
				   pci[20];
	struct nvml_memory memory = {0};
	struct nvml_pci info = {0};
	unsigned int minor;

	if (!answered(nvml->uuid(handle, uuid, NVML_UUID_SIZE), why))
		*uuid = '\0';
	if (!answered(nvml->name(handle, name, NVML_NAME_SIZE), why))
		*name = '\0';
	if (answered(nvml->pci(handle, &info), why))
		snprintf(address, sizeof(address), "%x:%02x:%02x.0", info.domain, info.bus,
			 info.device);
	if (nvml->memory(handle, &memory) == NVML_SUCCESS && memory.total <= INT64_MAX)
		d->memory = (int64_t)memory.total;
	if (NVML_ASK(nvml, minor, handle, &minor) == NVML_SUCCESS && minor <= INT32_MAX)
		d->minor = (int)minor;
	if (!member_set_text(&d->uuid, uuid) || !member_set_text(&d->name, name))
		return GPUMAP_ENOMEM;
	if (pci_normalise(span_of(address), pci) && !member_set(&d->pci, span_of(pci)))
		return GPUMAP_ENOMEM;
	return GPUMAP_OK;
}

static void report_silent(gpumap_inventory *inventory, unsigned int index, enum nvml_return why,
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
	struct nvml_handle *handle = NULL;
	enum nvml_return why = nvml->by_index(index, &handle);
	gpumap_device *d;
	int r;

	if (why != NVML_SUCCESS) {
		report_silent(inventory, index, why, report);
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
		r = nvml_read_mig(nvml, handle, d);
	if (r == GPUMAP_OK)
		r = read_affinity(nvml, handle, d);
	if (why != NVML_SUCCESS)
		report_silent(inventory, index, why, report);
	return r;
}

static int read_devices(const struct nvml *nvml, unsigned int count, gpumap_inventory *inventory,
			gpumap_report *report)
{
	struct nvml_handle **handles = calloc(count + 1u, sizeof(*handles));
	int r = handles ? GPUMAP_OK : GPUMAP_ENOMEM;

	for (unsigned int i = 0; r == GPUMAP_OK && i < count; i++)
		r = read_device(nvml, i, inventory, handles, report);
	if (r == GPUMAP_OK)
		r = nvml_read_links(nvml, handles, inventory);
	free(handles);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

static int read_host(const struct nvml *nvml, gpumap_inventory *inventory, enum nvml_return *why,
		     gpumap_report *report)
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
	r = read_devices(nvml, count, inventory, report);
	return r == GPUMAP_OK ? inventory_finish(inventory, report) : r;
}

int nvml_read(gpumap_inventory **ret, const struct nvml *nvml, enum nvml_return *why,
	      gpumap_report *report)
{
	gpumap_inventory *inventory;
	int r;

	*why = nvml->init();
	if (*why != NVML_SUCCESS)
		return GPUMAP_ENODRIVER;
	inventory = inventory_new("nvml", NULL);
	r = inventory ? read_host(nvml, inventory, why, report) : report_nomem(report);
	nvml->shutdown();
	if (r != GPUMAP_OK) {
		gpumap_inventory_free(inventory);
		return r;
	}
	*ret = inventory;
	return GPUMAP_OK;
}

int nvml_probe(gpumap_inventory **ret, enum nvml_return *why, gpumap_report *report)
{
	struct nvml nvml;
	int r;

	*why = nvml_open(&nvml);
	if (*why != NVML_SUCCESS)
		return GPUMAP_ENODRIVER;
	r = nvml_read(ret, &nvml, why, report);
	dlclose(nvml.library);
	return r;
}
