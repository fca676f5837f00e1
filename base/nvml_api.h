/* SPDX-License-Identifier: MIT */
/*
 * The part of NVIDIA's management library (NVML) that gpumap and gpumap-train use, and that `gpumap
 * pretend` serves: numbers, structures and functions as in NVIDIA's "NVML API Reference Guide". So
 * no file needs nvml.h to build, or the library to link.
 */
#ifndef GM_NVML_API_H
#define GM_NVML_API_H

/* X(value, name, text): what NVML functions return. */
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

/* The driver version of a pretended machine whose inventory has no version. It has the form of a
 * version, but no real driver has it, and gpumap itself treats it as not known. */
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

/* The range in which CPUs and memory count as near. */
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

/* Version 2 of the structure. The caller sets `version` to NVML_MEMORY_V2. `used` does not count
 * what is reserved; in version 1 it does. */
struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used; /* bytes */
};
#define NVML_MEMORY_V2 ((unsigned int)sizeof(struct nvml_memory_v2) | 2u << 24)

/* The share of the last sampling period, in percent, in which the GPU computed, or its memory was
 * read or written. */
struct nvml_utilization {
	unsigned int gpu, memory;
};

enum nvml_sensor { NVML_SENSOR_GPU = 0 };

/* The caller sets `version` to NVML_TEMPERATURE_V1. */
struct nvml_temperature {
	unsigned int version;
	enum nvml_sensor sensor;
	int celsius;
};
#define NVML_TEMPERATURE_V1 ((unsigned int)sizeof(struct nvml_temperature) | 1u << 24)

/* Which programs may use the GPU. */
enum nvml_compute_mode {
	NVML_COMPUTE_DEFAULT = 0,
	NVML_COMPUTE_EXCLUSIVE_THREAD = 1, /* of old drivers */
	NVML_COMPUTE_PROHIBITED = 2,
	NVML_COMPUTE_EXCLUSIVE_PROCESS = 3
};

/* Shares of a MIG instance. */
struct nvml_attributes {
	unsigned int multiprocessors;
	unsigned int copy_engines, decoders, encoders, jpegs, ofas;
	unsigned int gpu_slices, compute_slices;
	unsigned long long memory_mib;
};

/* A process on a GPU: version 2 of the structure. */
struct nvml_process {
	unsigned int pid;
	unsigned long long bytes; /* NVML_NOT_AVAILABLE: not known */
	unsigned int gi, ci;      /* UINT32_MAX: not of an instance */
};

/* That a process used a GPU: shares of a sampling period in percent. Some drivers give shares above
 * 100, which mean nothing. */
struct nvml_sample {
	unsigned int pid;
	unsigned long long time; /* microseconds since the epoch */
	unsigned int gpu, memory, encoder, decoder;
};

#define NVML_NOT_AVAILABLE (~0ull) /* NVML_VALUE_NOT_AVAILABLE */

/* Functions that every driver since 319 has. */
const char *nvmlErrorString(enum nvml_return code);
enum nvml_return nvmlInit_v2(void);
enum nvml_return nvmlShutdown(void);
enum nvml_return nvmlSystemGetDriverVersion(char *text, unsigned int size);
enum nvml_return nvmlDeviceGetCount_v2(unsigned int *count);
enum nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct nvml_handle **device);
enum nvml_return nvmlDeviceGetUUID(struct nvml_handle *device, char *text, unsigned int size);
enum nvml_return nvmlDeviceGetName(struct nvml_handle *device, char *text, unsigned int size);
enum nvml_return nvmlDeviceGetPciInfo_v2(struct nvml_handle *device, struct nvml_pci *pci);
enum nvml_return nvmlDeviceGetMemoryInfo(struct nvml_handle *device, struct nvml_memory *memory);

/* Functions that came later, or that answer only for some GPUs: lists of processes with driver 450
 * (_v2) and 510 (_v3), of MPS clients with 455, MIG with 450, memory without what is reserved with
 * 510, TemperatureV with 575. An entry of the functions without a number ends before `gi`. */
enum nvml_return nvmlDeviceGetMinorNumber(struct nvml_handle *device, unsigned int *minor);
enum nvml_return nvmlDeviceGetCpuAffinity(struct nvml_handle *device, unsigned int size,
					  unsigned long *set);
enum nvml_return nvmlDeviceGetMemoryAffinity(struct nvml_handle *device, unsigned int size,
					     unsigned long *set, enum nvml_scope scope);
enum nvml_return nvmlDeviceGetMigMode(struct nvml_handle *device, unsigned int *now,
				      unsigned int *pending);
enum nvml_return nvmlDeviceGetMaxMigDeviceCount(struct nvml_handle *device, unsigned int *count);
enum nvml_return nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_handle *device, unsigned int index,
						     struct nvml_handle **mig);
enum nvml_return nvmlDeviceGetGpuInstanceId(struct nvml_handle *mig, unsigned int *id);
enum nvml_return nvmlDeviceGetComputeInstanceId(struct nvml_handle *mig, unsigned int *id);
enum nvml_return nvmlDeviceGetAttributes_v2(struct nvml_handle *mig,
					    struct nvml_attributes *attributes);
enum nvml_return nvmlDeviceGetNvLinkState(struct nvml_handle *device, unsigned int link,
					  unsigned int *active);
enum nvml_return nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_handle *device, unsigned int link,
						     enum nvml_link_type *type);
enum nvml_return nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_handle *device, unsigned int link,
						     struct nvml_pci *pci);
enum nvml_return nvmlDeviceGetMemoryInfo_v2(struct nvml_handle *device,
					    struct nvml_memory_v2 *memory);
enum nvml_return nvmlDeviceGetUtilizationRates(struct nvml_handle *device,
					       struct nvml_utilization *utilization);
enum nvml_return nvmlDeviceGetTemperature(struct nvml_handle *device, enum nvml_sensor sensor,
					  unsigned int *celsius);
enum nvml_return nvmlDeviceGetTemperatureV(struct nvml_handle *device,
					   struct nvml_temperature *temperature);
/* The last sample of each process that used the GPU after `since`; 0: of all that the driver keeps,
 * some seconds. NVML_ERROR_NOT_FOUND: there are none. */
enum nvml_return nvmlDeviceGetProcessUtilization(struct nvml_handle *device,
						 struct nvml_sample *samples, unsigned int *count,
						 unsigned long long since);
enum nvml_return nvmlDeviceGetComputeMode(struct nvml_handle *device, enum nvml_compute_mode *mode);

#define NVML_PROCESS_LIST(name) \
	enum nvml_return name(struct nvml_handle *device, unsigned int *count, void *entries); \
	enum nvml_return name##_v2(struct nvml_handle *device, unsigned int *count, \
				   void *entries); \
	enum nvml_return name##_v3(struct nvml_handle *device, unsigned int *count, void *entries);
NVML_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses)
NVML_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses)
NVML_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses)
#undef NVML_PROCESS_LIST

/* --- the state of GPUs and of their driver, for gpumap doctor --------------------------------- */

/* Why a GPU's clocks are lower than they could be: a set of bits. */
enum {
	NVML_CLOCKS_GPU_IDLE = 0x1,
	NVML_CLOCKS_SW_POWER = 0x4,
	NVML_CLOCKS_HW_SLOWDOWN = 0x8,
	NVML_CLOCKS_SW_THERMAL = 0x20,
	NVML_CLOCKS_HW_THERMAL = 0x40,
	NVML_CLOCKS_HW_POWER_BRAKE = 0x80
};

enum nvml_clock { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum nvml_memory_error { NVML_ERRORS_CORRECTED = 0, NVML_ERRORS_UNCORRECTED = 1 };
enum nvml_counter { NVML_COUNTER_SINCE_BOOT = 0, NVML_COUNTER_EVER = 1 };

/* A GPU's place in an NVLink fabric of several hosts, or of NVSwitch. */
enum {
	NVML_FABRIC_UNSUPPORTED = 0,
	NVML_FABRIC_NOT_STARTED = 1,
	NVML_FABRIC_IN_PROGRESS = 2,
	NVML_FABRIC_COMPLETED = 3
};

struct nvml_fabric {
	unsigned char cluster[16];
	enum nvml_return status; /* counts if completed */
	unsigned int clique;
	unsigned char state;
};

struct nvml_confidential {
	unsigned int environment;
	unsigned int feature; /* 1: confidential computing is enabled */
	unsigned int devtools;
};

enum nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version);
enum nvml_return nvmlSystemGetNVMLVersion(char *text, unsigned int size);
enum nvml_return nvmlSystemGetConfComputeState(struct nvml_confidential *state);
enum nvml_return nvmlSystemGetConfComputeGpusReadyState(unsigned int *accepting);
enum nvml_return nvmlDeviceGetCudaComputeCapability(struct nvml_handle *device, int *major,
						    int *minor);
enum nvml_return nvmlDeviceGetPersistenceMode(struct nvml_handle *device, unsigned int *on);
enum nvml_return nvmlDeviceGetEccMode(struct nvml_handle *device, unsigned int *now,
				      unsigned int *pending);
enum nvml_return nvmlDeviceGetTotalEccErrors(struct nvml_handle *device,
					     enum nvml_memory_error kind, enum nvml_counter since,
					     unsigned long long *count);
enum nvml_return nvmlDeviceGetRetiredPagesPendingStatus(struct nvml_handle *device,
							unsigned int *pending);
enum nvml_return nvmlDeviceGetRemappedRows(struct nvml_handle *device, unsigned int *corrected,
					   unsigned int *uncorrected, unsigned int *pending,
					   unsigned int *failed);
/* nvmlDeviceGetCurrentClocksEventReasons since driver 535, which has the old name too */
enum nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_handle *device,
							   unsigned long long *reasons);
/* In MHz, now. */
enum nvml_return nvmlDeviceGetClockInfo(struct nvml_handle *device, enum nvml_clock clock,
					unsigned int *mhz);
/* 0 is the fastest, 15 the slowest, 32: not known */
enum nvml_return nvmlDeviceGetPerformanceState(struct nvml_handle *device, unsigned int *state);
enum nvml_return nvmlDeviceGetCurrPcieLinkWidth(struct nvml_handle *device, unsigned int *lanes);
enum nvml_return nvmlDeviceGetMaxPcieLinkWidth(struct nvml_handle *device, unsigned int *lanes);
enum nvml_return nvmlDeviceGetCurrPcieLinkGeneration(struct nvml_handle *device,
						     unsigned int *generation);
enum nvml_return nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_handle *device,
						    unsigned int *generation);
enum nvml_return nvmlDeviceGetGpuFabricInfo(struct nvml_handle *device, struct nvml_fabric *fabric);

#endif
