/* SPDX-License-Identifier: MIT */
/* NVML, opened at run time. */
#ifndef GM_NVML_LIBRARY_H
#define GM_NVML_LIBRARY_H

#include "base.h"
#include "nvml_api.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

enum nvml_need { NVML_NEEDED, NVML_WANTED };

/* The state of GPUs and of their driver, for gpumap doctor. */
#define NVML_HEALTH_FUNCTIONS(X) \
	X(NVML_WANTED, cuda_version, nvmlSystemGetCudaDriverVersion_v2) \
	X(NVML_WANTED, library_version, nvmlSystemGetNVMLVersion) \
	X(NVML_WANTED, confidential, nvmlSystemGetConfComputeState) \
	X(NVML_WANTED, accepts_work, nvmlSystemGetConfComputeGpusReadyState) \
	X(NVML_WANTED, capability, nvmlDeviceGetCudaComputeCapability) \
	X(NVML_WANTED, persistence, nvmlDeviceGetPersistenceMode) \
	X(NVML_WANTED, ecc_mode, nvmlDeviceGetEccMode) \
	X(NVML_WANTED, ecc_errors, nvmlDeviceGetTotalEccErrors) \
	X(NVML_WANTED, pages_pending, nvmlDeviceGetRetiredPagesPendingStatus) \
	X(NVML_WANTED, remapped_rows, nvmlDeviceGetRemappedRows) \
	X(NVML_WANTED, clock_reasons, nvmlDeviceGetCurrentClocksThrottleReasons) \
	X(NVML_WANTED, clock, nvmlDeviceGetClockInfo) \
	X(NVML_WANTED, performance, nvmlDeviceGetPerformanceState) \
	X(NVML_WANTED, pcie_width, nvmlDeviceGetCurrPcieLinkWidth) \
	X(NVML_WANTED, pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth) \
	X(NVML_WANTED, pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration) \
	X(NVML_WANTED, pcie_max_generation, nvmlDeviceGetMaxPcieLinkGeneration) \
	X(NVML_WANTED, fabric, nvmlDeviceGetGpuFabricInfo)

/* X(need, member, function): the functions that gpumap and gpumap-train call. The library is of no
 * use without one that is NEEDED; without a WANTED one its information stays unknown. */
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
	X(NVML_WANTED, link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2) \
	X(NVML_WANTED, memory_v2, nvmlDeviceGetMemoryInfo_v2) \
	X(NVML_WANTED, utilization, nvmlDeviceGetUtilizationRates) \
	X(NVML_WANTED, temperature, nvmlDeviceGetTemperature) \
	X(NVML_WANTED, temperature_v, nvmlDeviceGetTemperatureV) \
	X(NVML_WANTED, process_utilization, nvmlDeviceGetProcessUtilization) \
	X(NVML_WANTED, compute_mode, nvmlDeviceGetComputeMode) \
	X(NVML_WANTED, compute_v1, nvmlDeviceGetComputeRunningProcesses) \
	X(NVML_WANTED, compute_v2, nvmlDeviceGetComputeRunningProcesses_v2) \
	X(NVML_WANTED, compute_v3, nvmlDeviceGetComputeRunningProcesses_v3) \
	X(NVML_WANTED, graphics_v1, nvmlDeviceGetGraphicsRunningProcesses) \
	X(NVML_WANTED, graphics_v2, nvmlDeviceGetGraphicsRunningProcesses_v2) \
	X(NVML_WANTED, graphics_v3, nvmlDeviceGetGraphicsRunningProcesses_v3) \
	X(NVML_WANTED, mps_v1, nvmlDeviceGetMPSComputeRunningProcesses) \
	X(NVML_WANTED, mps_v2, nvmlDeviceGetMPSComputeRunningProcesses_v2) \
	X(NVML_WANTED, mps_v3, nvmlDeviceGetMPSComputeRunningProcesses_v3) \
	NVML_HEALTH_FUNCTIONS(X)

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

/* The temperature of a GPU in degrees Celsius, 0 or more; on failure *celsius is unchanged. */
enum nvml_return nvml_celsius(const struct nvml *nvml, struct nvml_handle *gpu, int *celsius);

/* The newest CUDA that a driver supports by its version, 13000 for "580.65.06"; 0: not known. */
int nvml_cuda_of_driver(const char *driver);

/* NVML_ERROR_LIBRARY_NOT_FOUND; or NVML_ERROR_FUNCTION_NOT_FOUND and in *missing a needed function
 * that the library lacks. dlclose() takes ret->library. */
enum nvml_return nvml_open(struct nvml *ret, const char **missing);

#endif
