/* SPDX-License-Identifier: MIT */
/* The files nvml*.c share one loaded NVML. */
#ifndef GM_NVML_H
#define GM_NVML_H

#include "inventory/inventory.h"
#include "nvml_api.h"

enum nvml_need { NVML_NEEDED, NVML_WANTED };

/* X(need, member, function): the functions that the inventory calls. The library is of no use
 * without one that is NEEDED; without a WANTED one its information stays unknown. */
#define NVML_FUNCTIONS(X) \
	X(NVML_NEEDED, init, nvmlInit_v2) \
	X(NVML_NEEDED, shutdown, nvmlShutdown) \
	X(NVML_NEEDED, driver_version, nvmlSystemGetDriverVersion) \
	X(NVML_NEEDED, count, nvmlDeviceGetCount_v2) \
	X(NVML_NEEDED, by_index, nvmlDeviceGetHandleByIndex_v2) \
	X(NVML_NEEDED, uuid, nvmlDeviceGetUUID) \
	X(NVML_NEEDED, name, nvmlDeviceGetName) \
	X(NVML_NEEDED, pci, nvmlDeviceGetPciInfo_v2) \
	X(NVML_NEEDED, memory, nvmlDeviceGetMemoryInfo) \
	X(NVML_WANTED, minor, nvmlDeviceGetMinorNumber) \
	X(NVML_WANTED, cpus, nvmlDeviceGetCpuAffinity) \
	X(NVML_WANTED, nodes, nvmlDeviceGetMemoryAffinity) \
	X(NVML_WANTED, mig_mode, nvmlDeviceGetMigMode) \
	X(NVML_WANTED, mig_max, nvmlDeviceGetMaxMigDeviceCount) \
	X(NVML_WANTED, mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex) \
	X(NVML_WANTED, mig_gi, nvmlDeviceGetGpuInstanceId) \
	X(NVML_WANTED, mig_ci, nvmlDeviceGetComputeInstanceId) \
	X(NVML_WANTED, mig_attributes, nvmlDeviceGetAttributes_v2) \
	X(NVML_WANTED, link_state, nvmlDeviceGetNvLinkState) \
	X(NVML_WANTED, link_type, nvmlDeviceGetNvLinkRemoteDeviceType) \
	X(NVML_WANTED, link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2)

struct nvml {
	void *library;
#define NVML_MEMBER(need, member, function) __typeof__(function) *member;
	NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

/* The result of a function; NVML_ERROR_FUNCTION_NOT_FOUND if the driver lacks it. */
#define NVML_ASK(nvml, member, ...) \
	((nvml)->member ? (nvml)->member(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND)

/* One line for an NVML code. Static. */
const char *nvml_text(enum nvml_return code);

/* GPUMAP_ENODRIVER: the library is missing or does not answer. *why then has the reason, and
 * nothing is reported, because only the caller knows the rest of the host. */
int nvml_probe(gpumap_inventory **ret, enum nvml_return *why, gpumap_report *report);

/* nvml_probe() for a library that is loaded. */
int nvml_read(gpumap_inventory **ret, const struct nvml *nvml, enum nvml_return *why,
	      gpumap_report *report);

/* Reads the MIG mode of a GPU and its instances into `gpu`. */
int nvml_read_mig(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *gpu);

/* Reads the NVLink neighbours of all GPUs; handles[i] belongs to inventory->gpus[i]. */
int nvml_read_links(const struct nvml *nvml, struct nvml_handle *const *handles,
		    gpumap_inventory *inventory);

/* "1c.2g.20gb" from the name of a MIG instance ("... MIG 1c.2g.20gb"), or else computed from its
 * shares of a GPU with `total` bytes; false: not known. */
bool mig_profile(char ret[32], const char *name, const struct nvml_attributes *shares,
		 int64_t total);

#endif
