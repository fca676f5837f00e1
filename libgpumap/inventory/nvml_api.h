/* SPDX-License-Identifier: MIT */
/*
 * The part of NVIDIA's management library (NVML) that gpumap asks, and that
 * `gpumap pretend` serves: numbers and layouts as NVIDIA documents them, so that
 * neither needs nvml.h to build nor the library to link.
 */
#ifndef GM_NVML_API_H
#define GM_NVML_API_H

/* X(value, name, text): what an NVML function returns. */
#define NVML_RETURNS(X) \
	X(0, NVML_SUCCESS, "success") \
	X(1, NVML_ERROR_UNINITIALIZED, "not initialised") \
	X(2, NVML_ERROR_INVALID_ARGUMENT, "invalid argument") \
	X(3, NVML_ERROR_NOT_SUPPORTED, "not supported") \
	X(4, NVML_ERROR_NO_PERMISSION, "no permission") \
	X(5, NVML_ERROR_ALREADY_INITIALIZED, "initialised already") \
	X(6, NVML_ERROR_NOT_FOUND, "not found") \
	X(7, NVML_ERROR_INSUFFICIENT_SIZE, "the buffer is too small") \
	X(8, NVML_ERROR_INSUFFICIENT_POWER, "a GPU's external power cables are missing") \
	X(9, NVML_ERROR_DRIVER_NOT_LOADED, "the driver is not loaded") \
	X(10, NVML_ERROR_TIMEOUT, "timed out") \
	X(11, NVML_ERROR_IRQ_ISSUE, "the kernel has a problem with a GPU's interrupt") \
	X(12, NVML_ERROR_LIBRARY_NOT_FOUND, "the library was not found") \
	X(13, NVML_ERROR_FUNCTION_NOT_FOUND, "the library lacks this function") \
	X(14, NVML_ERROR_CORRUPTED_INFOROM, "a GPU's infoROM is corrupted") \
	X(15, NVML_ERROR_GPU_IS_LOST, "the GPU is lost") \
	X(16, NVML_ERROR_RESET_REQUIRED, "the GPU needs a reset") \
	X(17, NVML_ERROR_OPERATING_SYSTEM, "the operating system blocks the GPU") \
	X(18, NVML_ERROR_LIB_RM_VERSION_MISMATCH, "library and driver differ in version") \
	X(19, NVML_ERROR_IN_USE, "the GPU is in use") \
	X(20, NVML_ERROR_MEMORY, "out of memory") \
	X(21, NVML_ERROR_NO_DATA, "no data") \
	X(22, NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "ECC excludes this vGPU operation") \
	X(23, NVML_ERROR_INSUFFICIENT_RESOURCES, "a resource other than memory ran out") \
	X(24, NVML_ERROR_FREQ_NOT_SUPPORTED, "this frequency is not supported") \
	X(25, NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "the argument has an unknown version") \
	X(26, NVML_ERROR_DEPRECATED, "no longer offered") \
	X(27, NVML_ERROR_NOT_READY, "not ready") \
	X(28, NVML_ERROR_GPU_NOT_FOUND, "no GPU was found") \
	X(29, NVML_ERROR_INVALID_STATE, "not possible in this state") \
	X(30, NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "this kind of reset is not supported") \
	X(999, NVML_ERROR_UNKNOWN, "unknown error")

enum nvml_return {
#define NVML_RETURN_ENUM(value, name, text) name = value,
	NVML_RETURNS(NVML_RETURN_ENUM)
#undef NVML_RETURN_ENUM
};

/* The driver of a pretended machine whose inventory names none. It can be parsed, and no driver is
 * called so: gpumap itself takes it for not known. */
#define NVML_MADE_UP_DRIVER "580.00.00"

enum {
	NVML_NAME_SIZE = 96,
	NVML_UUID_SIZE = 96,
	NVML_VERSION_SIZE = 80,
	NVML_MAX_LINKS = 36, /* of one GPU */
	NVML_VENDOR_NVIDIA = 0x10de
};

enum nvml_link_type {
	NVML_LINK_TO_GPU = 0,
	NVML_LINK_TO_NPU = 1, /* a POWER processor */
	NVML_LINK_TO_SWITCH = 2,
	NVML_LINK_TO_UNKNOWN = 0xff
};

/* Where "near" ends when CPUs or memory are asked for. */
enum nvml_scope { NVML_SCOPE_NODE = 0, NVML_SCOPE_SOCKET = 1 };

enum nvml_topology {
	NVML_TOPOLOGY_INTERNAL = 0, /* one board */
	NVML_TOPOLOGY_NODE = 40,    /* one NUMA node */
	NVML_TOPOLOGY_SYSTEM = 50   /* across NUMA nodes */
};

struct nvml_handle; /* a GPU or a MIG instance; the library's own */

/* Versions 2 and 3 of the structure; version 2 ends before bus_id. */
struct nvml_pci {
	char bus_id_legacy[16]; /* "0000:07:00.0" */
	unsigned int domain, bus, device;
	unsigned int pci_device_id; /* device and vendor, the vendor in the low half */
	unsigned int pci_subsystem_id;
	char bus_id[32]; /* "00000000:07:00.0" */
};

struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};

/* Shares of a MIG instance. */
struct nvml_attributes {
	unsigned int multiprocessors;
	unsigned int copy_engines, decoders, encoders, jpegs, ofas;
	unsigned int gpu_slices, compute_slices;
	unsigned long long memory_mib;
};

enum nvml_need { NVML_NEEDED, NVML_WANTED };

/*
 * X(need, member, symbol, parameters): the functions that gpumap asks. NEEDED are
 * those of every driver since 319: without one the library is of no use. WANTED
 * came later or answer for some GPUs only; what they tell is then not known.
 */
#define NVML_FUNCTIONS(X) \
	X(NVML_NEEDED, init, nvmlInit_v2, (void)) \
	X(NVML_NEEDED, shutdown, nvmlShutdown, (void)) \
	X(NVML_NEEDED, driver_version, nvmlSystemGetDriverVersion, \
	  (char *text, unsigned int size)) \
	X(NVML_NEEDED, count, nvmlDeviceGetCount_v2, (unsigned int *count)) \
	X(NVML_NEEDED, by_index, nvmlDeviceGetHandleByIndex_v2, \
	  (unsigned int index, struct nvml_handle **device)) \
	X(NVML_NEEDED, uuid, nvmlDeviceGetUUID, \
	  (struct nvml_handle * device, char *text, unsigned int size)) \
	X(NVML_NEEDED, name, nvmlDeviceGetName, \
	  (struct nvml_handle * device, char *text, unsigned int size)) \
	X(NVML_NEEDED, pci, nvmlDeviceGetPciInfo_v2, \
	  (struct nvml_handle * device, struct nvml_pci * pci)) \
	X(NVML_NEEDED, memory, nvmlDeviceGetMemoryInfo, \
	  (struct nvml_handle * device, struct nvml_memory * memory)) \
	X(NVML_WANTED, minor, nvmlDeviceGetMinorNumber, \
	  (struct nvml_handle * device, unsigned int *minor)) \
	X(NVML_WANTED, cpus, nvmlDeviceGetCpuAffinity, \
	  (struct nvml_handle * device, unsigned int size, unsigned long *set)) \
	X(NVML_WANTED, nodes, nvmlDeviceGetMemoryAffinity, \
	  (struct nvml_handle * device, unsigned int size, unsigned long *set, \
	   enum nvml_scope scope)) \
	X(NVML_WANTED, mig_mode, nvmlDeviceGetMigMode, \
	  (struct nvml_handle * device, unsigned int *now, unsigned int *pending)) \
	X(NVML_WANTED, mig_max, nvmlDeviceGetMaxMigDeviceCount, \
	  (struct nvml_handle * device, unsigned int *count)) \
	X(NVML_WANTED, mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex, \
	  (struct nvml_handle * device, unsigned int index, struct nvml_handle **mig)) \
	X(NVML_WANTED, mig_gi, nvmlDeviceGetGpuInstanceId, \
	  (struct nvml_handle * mig, unsigned int *id)) \
	X(NVML_WANTED, mig_ci, nvmlDeviceGetComputeInstanceId, \
	  (struct nvml_handle * mig, unsigned int *id)) \
	X(NVML_WANTED, mig_attributes, nvmlDeviceGetAttributes_v2, \
	  (struct nvml_handle * mig, struct nvml_attributes * attributes)) \
	X(NVML_WANTED, link_state, nvmlDeviceGetNvLinkState, \
	  (struct nvml_handle * device, unsigned int link, unsigned int *active)) \
	X(NVML_WANTED, link_type, nvmlDeviceGetNvLinkRemoteDeviceType, \
	  (struct nvml_handle * device, unsigned int link, enum nvml_link_type *type)) \
	X(NVML_WANTED, link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2, \
	  (struct nvml_handle * device, unsigned int link, struct nvml_pci *pci))

#endif
