/* SPDX-License-Identifier: MIT */
/* What a machine that does nothing answers, and what an inventory never knows. */
#include "pretend.h"

static enum nvml_return none(struct nvml_handle *device, unsigned int *count)
{
	UNIT_OR_RETURN(u, device);

	if (!count || !u)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

/* No process draws here, and none is MPS's. */
#define NO_PROCESSES(name) \
	SERVE(name, struct nvml_handle *device, unsigned int *count, void *processes) \
	{ \
		(void)processes; \
		return none(device, count); \
	} \
	SERVE(name##_v2, struct nvml_handle *device, unsigned int *count, void *processes) \
	{ \
		(void)processes; \
		return none(device, count); \
	} \
	SERVE(name##_v3, struct nvml_handle *device, unsigned int *count, void *processes) \
	{ \
		(void)processes; \
		return none(device, count); \
	}

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)

SERVE(nvmlUnitGetCount, unsigned int *count)
{
	if (!machine_get())
		return NVML_ERROR_UNINITIALIZED;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

/* Every one begins with a device; what follows is not looked at, so that one
 * signature does for all. A function that is not here at all would be logged as a
 * broken installation by some tools; this one they show as N/A. */
#define NOT_SUPPORTED(name) \
	SERVE(name, struct nvml_handle *device) \
	{ \
		UNIT_OR_RETURN(u, device); \
		return u ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT; \
	}

NOT_SUPPORTED(nvmlDeviceGetArchitecture)
NOT_SUPPORTED(nvmlDeviceGetBoardId)
NOT_SUPPORTED(nvmlDeviceGetBoardPartNumber)
NOT_SUPPORTED(nvmlDeviceGetBrand)
NOT_SUPPORTED(nvmlDeviceGetClock)
NOT_SUPPORTED(nvmlDeviceGetClockInfo)
NOT_SUPPORTED(nvmlDeviceGetComputeMode)
NOT_SUPPORTED(nvmlDeviceGetConfComputeMemSizeInfo)
NOT_SUPPORTED(nvmlDeviceGetCudaComputeCapability)
NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkGeneration)
NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkWidth)
NOT_SUPPORTED(nvmlDeviceGetCurrentClocksThrottleReasons)
NOT_SUPPORTED(nvmlDeviceGetDecoderUtilization)
NOT_SUPPORTED(nvmlDeviceGetDisplayActive)
NOT_SUPPORTED(nvmlDeviceGetDisplayMode)
NOT_SUPPORTED(nvmlDeviceGetDriverModel)
NOT_SUPPORTED(nvmlDeviceGetDriverModel_v2)
NOT_SUPPORTED(nvmlDeviceGetEccMode)
NOT_SUPPORTED(nvmlDeviceGetEncoderUtilization)
NOT_SUPPORTED(nvmlDeviceGetEnforcedPowerLimit)
NOT_SUPPORTED(nvmlDeviceGetFanSpeed)
NOT_SUPPORTED(nvmlDeviceGetFanSpeed_v2)
NOT_SUPPORTED(nvmlDeviceGetFieldValues)
NOT_SUPPORTED(nvmlDeviceGetInforomVersion)
NOT_SUPPORTED(nvmlDeviceGetMaxClockInfo)
NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkGeneration)
NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkWidth)
NOT_SUPPORTED(nvmlDeviceGetMemoryErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetNumGpuCores)
NOT_SUPPORTED(nvmlDeviceGetNvLinkCapability)
NOT_SUPPORTED(nvmlDeviceGetNvLinkErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetNvLinkVersion)
NOT_SUPPORTED(nvmlDeviceGetPcieReplayCounter)
NOT_SUPPORTED(nvmlDeviceGetPcieThroughput)
NOT_SUPPORTED(nvmlDeviceGetPerformanceState)
NOT_SUPPORTED(nvmlDeviceGetPersistenceMode)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementDefaultLimit)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimit)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimitConstraints)
NOT_SUPPORTED(nvmlDeviceGetPowerState)
NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
NOT_SUPPORTED(nvmlDeviceGetProcessUtilization)
NOT_SUPPORTED(nvmlDeviceGetRunningProcessDetailList)
NOT_SUPPORTED(nvmlDeviceGetSamples)
NOT_SUPPORTED(nvmlDeviceGetSerial)
NOT_SUPPORTED(nvmlDeviceGetTemperature)
NOT_SUPPORTED(nvmlDeviceGetTemperatureThreshold)
NOT_SUPPORTED(nvmlDeviceGetTemperatureV)
NOT_SUPPORTED(nvmlDeviceGetTotalEccErrors)
NOT_SUPPORTED(nvmlDeviceGetTotalEnergyConsumption)
NOT_SUPPORTED(nvmlDeviceGetUtilizationRates)
NOT_SUPPORTED(nvmlDeviceGetVbiosVersion)
