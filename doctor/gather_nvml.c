/* SPDX-License-Identifier: MIT */
/* What NVML knows: the inventory, and the state of each GPU. */
#include <dlfcn.h>
#include <time.h>

#include "try_in_child.h"
#include "gather.h"
#include "inventory/host.h"
#include "lint/environment.h"
#include "nvml_processes.h"
#include "report/report.h"
#include "text/pci.h"

/* A number of a GPU; -1 if NVML does not have it. A GPU that is lost is noted. */
static int64_t number_or_unknown(struct gpu *gpu, enum nvml_return code, unsigned long long number)
{
	if (code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_RESET_REQUIRED)
		gpu->state = code;
	return code == NVML_SUCCESS ? (int64_t)number : -1;
}

#define ASK(member, type) \
	__extension__({ \
		type value_ = 0; \
		enum nvml_return code_ = NVML_ASK(nvml, member, handle, &value_); \
		number_or_unknown(gpu, code_, (unsigned long long)value_); \
	})

/* The instances of a GPU that has MIG enabled; -1: not known, as without the permission. */
static int64_t count_instances(const struct nvml *nvml, struct nvml_handle *handle)
{
	unsigned int places = 0;
	int64_t count = 0;

	if (NVML_ASK(nvml, mig_max, handle, &places) != NVML_SUCCESS)
		return -1;
	for (unsigned int i = 0; i < places && i < MAX_MIG; i++) {
		struct nvml_handle *mig = NULL;
		enum nvml_return code = NVML_ASK(nvml, mig_by_index, handle, i, &mig);

		/* A place without an instance answers "not found". */
		if (code != NVML_SUCCESS && code != NVML_ERROR_NOT_FOUND)
			return -1;
		count += code == NVML_SUCCESS;
	}
	return count;
}

static void read_memory(struct gpu *gpu, const struct nvml *nvml, struct nvml_handle *handle)
{
	struct nvml_memory memory = {0};
	struct nvml_fabric fabric = {0};
	unsigned int now = 0, pending = 0, rows[4] = {0};
	unsigned long long errors = 0;
	enum nvml_return code = nvml->memory(handle, &memory);

	gpu->memory = number_or_unknown(gpu, code, memory.total);
	gpu->used = number_or_unknown(gpu, code, memory.used);
	code = NVML_ASK(nvml, ecc_mode, handle, &now, &pending);
	gpu->ecc = number_or_unknown(gpu, code, now);
	gpu->ecc_pending = number_or_unknown(gpu, code, pending);
	code = NVML_ASK(nvml, ecc_errors, handle, NVML_ERRORS_UNCORRECTED, NVML_COUNTER_SINCE_BOOT,
			&errors);
	gpu->errors = number_or_unknown(gpu, code, errors);
	code = NVML_ASK(nvml, remapped_rows, handle, &rows[0], &rows[1], &rows[2], &rows[3]);
	gpu->rows_pending = number_or_unknown(gpu, code, rows[2]);
	gpu->rows_failed = number_or_unknown(gpu, code, rows[3]);
	code = NVML_ASK(nvml, fabric, handle, &fabric);
	gpu->fabric = number_or_unknown(gpu, code, fabric.state);
	gpu->fabric_status = number_or_unknown(gpu, code, (unsigned long long)fabric.status);
	code = NVML_ASK(nvml, mig_mode, handle, &now, &pending);
	gpu->mig = number_or_unknown(gpu, code, now);
	gpu->mig_pending = number_or_unknown(gpu, code, pending);
	if (gpu->mig == 1)
		gpu->instances = count_instances(nvml, handle);
}

static void read_processes(struct facts *facts, struct gpu *gpu, const struct nvml *nvml,
			   struct nvml_handle *handle)
{
	struct nvml_processes list;

	if (!nvml_read_processes(&list, nvml, NVML_LIST_COMPUTE, handle))
		memory_ran_out();
	gpu->processes = number_or_unknown(gpu, list.code, list.count);
	/* The kernel cuts names of processes after 15 characters. */
	for (unsigned int i = 0; i < list.count && !gpu->mps_server; i++) {
		struct fact name = fact_file(facts, 64, "/proc/%u/comm", list.entries[i].pid);

		gpu->mps_server = name.sight == SEEN && streq(name.text, "nvidia-cuda-mps");
		gpu->hidden = gpu->hidden || name.sight != SEEN;
	}
	free(list.entries);
}

static int64_t read_clocks(struct gpu *gpu, const struct nvml *nvml, struct nvml_handle *handle)
{
	static const int64_t slowdown = NVML_CLOCKS_HW_SLOWDOWN;
	static const int64_t reasons = NVML_CLOCKS_HW_THERMAL | NVML_CLOCKS_HW_POWER_BRAKE;
	int64_t first = ASK(clock_reasons, unsigned long long), second;

	/* Without its reason the bit may be set for a moment, while the clocks change. */
	if (first < 0 || !(first & slowdown) || first & reasons)
		return first;
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	second = ASK(clock_reasons, unsigned long long);
	return second < 0 || second & slowdown ? first : first & ~slowdown;
}

static void read_gpu(struct facts *facts, struct gpu *gpu, const struct nvml *nvml)
{
	struct nvml_handle *handle = NULL;
	char name[NVML_NAME_SIZE] = "", pci[20];
	struct nvml_pci info = {0};
	int major = -1, minor = -1;

	gpu->state = nvml->by_index(gpu->index, &handle);
	if (gpu->state != NVML_SUCCESS)
		return;
	if (nvml->name(handle, name, sizeof(name)) == NVML_SUCCESS)
		gpu->name = arena_strdup(&facts->arena, name);
	if (nvml->pci(handle, &info) == NVML_SUCCESS &&
	    pci_of_numbers(info.domain, info.bus, info.device, pci))
		gpu->pci = arena_strdup(&facts->arena, pci);
	if (NVML_ASK(nvml, capability, handle, &major, &minor) == NVML_SUCCESS) {
		gpu->major = major;
		gpu->minor = minor;
	}
	gpu->compute = ASK(compute_mode, enum nvml_compute_mode);
	gpu->persistence = ASK(persistence, unsigned int);
	gpu->pages_pending = ASK(pages_pending, unsigned int);
	gpu->clocks = read_clocks(gpu, nvml, handle);
	gpu->performance = ASK(performance, unsigned int);
	gpu->width = ASK(pcie_width, unsigned int);
	gpu->max_width = ASK(pcie_max_width, unsigned int);
	gpu->generation = ASK(pcie_generation, unsigned int);
	gpu->max_generation = ASK(pcie_max_generation, unsigned int);
	read_memory(gpu, nvml, handle);
	read_processes(facts, gpu, nvml, handle);
}

_Static_assert(offsetof(struct gpu, processes) == offsetof(struct gpu, numbers[23]), "the last");

static void read_gpus(struct facts *facts, const struct nvml *nvml)
{
	unsigned int count = 0;

	if (nvml->count(&count) != NVML_SUCCESS || count > GPUMAP_MAX_DEVICES)
		return;
	facts->gpus = arena_alloc(&facts->arena, count, sizeof(*facts->gpus));
	for (unsigned int i = 0; i < count; i++) {
		struct gpu *gpu = &facts->gpus[i];

		*gpu = (struct gpu){.visible = true, .index = i};
		for (size_t k = 0; k < ARRAY_SIZE(gpu->numbers); k++)
			gpu->numbers[k] = -1;
		read_gpu(facts, gpu, nvml);
		facts->gpu_count++;
	}
}

static void read_system(struct facts *facts, const struct nvml *nvml)
{
	struct nvml_confidential confidential = {0};
	char text[NVML_VERSION_SIZE] = "";
	unsigned int accepts = 0;
	int cuda = 0;

	if (nvml->driver_version(text, sizeof(text)) == NVML_SUCCESS)
		facts->nvml_driver = fact_text(arena_strdup(&facts->arena, text));
	if (NVML_ASK(nvml, library_version, text, sizeof(text)) == NVML_SUCCESS)
		facts->nvml_library = fact_text(arena_strdup(&facts->arena, text));
	if (NVML_ASK(nvml, cuda_version, &cuda) == NVML_SUCCESS && cuda > 0)
		facts->cuda = fact_number(cuda);
	if (NVML_ASK(nvml, confidential, &confidential) == NVML_SUCCESS)
		facts->confidential = confidential.feature;
	if (NVML_ASK(nvml, accepts_work, &accepts) == NVML_SUCCESS)
		facts->accepts_work = accepts;
}

static void ask_nvml(struct facts *facts)
{
	struct nvml nvml = {0};
	const char *missing = NULL;

	facts->nvml = nvml_open(&nvml, &missing);
	if (facts->nvml != NVML_SUCCESS)
		return;
	facts->nvml = nvml.init();
	if (facts->nvml == NVML_SUCCESS) {
		read_system(facts, &nvml);
		read_gpus(facts, &nvml);
		nvml.shutdown();
	}
	dlclose(nvml.library);
}

/* Each call that follows may hang with a driver whose GPU or firmware does. */
static void try_nvml(void)
{
	CLEANUP(facts_free) struct facts facts = {.root = ""};

	ask_nvml(&facts);
	gpumap_inventory_probe(&facts.inventory, 0, NULL, NULL);
}

/* What NVML would answer on a recorded machine, as far as its files show. */
static enum nvml_return recorded_nvml(const struct facts *facts)
{
	const struct library *nvml = first_library(facts, NVML_LIBRARY);

	if (!nvml && (facts->folders.sight == SEEN || facts->module.sight != SEEN))
		return NVML_ERROR_LIBRARY_NOT_FOUND;
	if (facts->module.sight != SEEN)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	if (nvml && nvml->version && strchr(nvml->version, '.') &&
	    !streq(nvml->version, facts->module.text))
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	return NVML_SUCCESS;
}

static void read_inventory(struct facts *facts)
{
	gpumap_report *report = facts->inventory_report;

	if (*facts->root)
		facts->nvml = recorded_nvml(facts);
	if (!*facts->root && !facts->nvml_hangs)
		gpumap_inventory_probe(&facts->inventory, 0, NULL, report);
	else if (facts->nvml == NVML_SUCCESS)
		proc_probe(&facts->inventory, facts->root, report);
	else
		probe_without_nvml(&facts->inventory, facts->root, facts->nvml, report);
}

/* Marks a GPU that a program of this environment sees. */
static void mark_device(struct facts *facts, const gpumap_device *device)
{
	const char *address = gpumap_device_str(device, GPUMAP_DEVICE_PCI);

	for (size_t i = 0; address && i < facts->pci_count; i++)
		if (streq(facts->pci[i].address, address))
			facts->pci[i].used = true;
	for (size_t i = 0; i < facts->gpu_count; i++)
		if (facts->gpus[i].index == gpumap_device_int(device, GPUMAP_DEVICE_PHYSICAL))
			facts->gpus[i].visible = true;
}

static void mark_used(struct facts *facts, const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < facts->pci_count; i++)
		facts->pci[i].used = false;
	for (size_t i = 0; i < facts->gpu_count; i++)
		facts->gpus[i].visible = false;
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *entry = gpumap_mapping_visible(mapping, i);

		for (size_t k = 0; k < gpumap_entry_candidate_count(entry); k++)
			mark_device(facts, gpumap_entry_candidate(entry, k));
	}
}

static void find_used(struct facts *facts, const gpumap_inventory *inventory)
{
	OWNED(request) *request = new_request();
	OWNED(mapping) *mapping = NULL;

	if (gpumap_request_set_environ(request, facts->environ, NULL) == GPUMAP_OK &&
	    gpumap_resolve(&mapping, request, inventory, NULL) == GPUMAP_OK)
		mark_used(facts, mapping);
}

/* Whether each GPU has NVLink to another; -1: not known, as of a recorded machine. */
static int all_joined(const gpumap_inventory *inventory)
{
	int joined = 1;

	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++) {
		int count = gpumap_device_nvlink_count(gpumap_inventory_get(inventory, i));

		if (!count)
			return 0;
		if (count < 0)
			joined = -1;
	}
	return joined;
}

void gather_nvml(struct facts *facts)
{
	const gpumap_inventory *judged;

	facts->nvml_hangs = !*facts->root && !attempt(try_nvml, NVML_PATIENCE);
	read_inventory(facts);
	facts->nvml_asked = !*facts->root;
	if (facts->nvml_hangs)
		facts->nvml = NVML_ERROR_TIMEOUT;
	else if (facts->nvml_asked)
		ask_nvml(facts);
	if (facts->cuda.sight != SEEN && facts->module.sight == SEEN &&
	    nvml_cuda_of_driver(facts->module.text))
		facts->cuda = fact_number(nvml_cuda_of_driver(facts->module.text));
	/* Without GPUs each list would be wrong. */
	judged = facts->inventory && gpumap_inventory_count(facts->inventory) &&
				 !gpumap_inventory_str(facts->inventory, GPUMAP_INVENTORY_NO_GPU)
			 ? facts->inventory
			 : NULL;
	facts->joined = judged ? all_joined(judged) : -1;
	if (judged && facts->environ)
		find_used(facts, judged);
	if (facts->environ)
		lint_environment(facts->environ, judged, facts->environment_report);
}
