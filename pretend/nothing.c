/* SPDX-License-Identifier: MIT */
/* Answers of a machine that does nothing, and of facts that an inventory never has. */
#include "pretend.h"

static enum nvml_return none(struct nvml_handle *device, unsigned int *count)
{
	UNIT_OR_RETURN(u, device);

	if (!count || !u)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

/* No process uses graphics here, and none is of MPS. */
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

/* Every function begins with a device and ignores its other arguments, so one signature serves all.
 * Some tools would log a missing function as a broken installation; this answer they show as
 * N/A. */
#define NOT_SUPPORTED(name) \
	SERVE(name, struct nvml_handle *device) \
	{ \
		UNIT_OR_RETURN(u, device); \
		return u ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT; \
	}

NOT_SUPPORTED(nvmlDeviceGetAccountingBufferSize)
NOT_SUPPORTED(nvmlDeviceGetAccountingMode)
NOT_SUPPORTED(nvmlDeviceGetAccountingPids)
NOT_SUPPORTED(nvmlDeviceGetAccountingStats)
NOT_SUPPORTED(nvmlDeviceGetActiveVgpus)
NOT_SUPPORTED(nvmlDeviceGetAdaptiveClockInfoStatus)
NOT_SUPPORTED(nvmlDeviceGetAPIRestriction)
NOT_SUPPORTED(nvmlDeviceGetApplicationsClock)
NOT_SUPPORTED(nvmlDeviceGetArchitecture)
NOT_SUPPORTED(nvmlDeviceGetAutoBoostedClocksEnabled)
NOT_SUPPORTED(nvmlDeviceGetBoardId)
NOT_SUPPORTED(nvmlDeviceGetBoardPartNumber)
NOT_SUPPORTED(nvmlDeviceGetBrand)
NOT_SUPPORTED(nvmlDeviceGetBridgeChipInfo)
NOT_SUPPORTED(nvmlDeviceGetBusType)
NOT_SUPPORTED(nvmlDeviceGetC2cModeInfoV)
NOT_SUPPORTED(nvmlDeviceGetClkMonStatus)
NOT_SUPPORTED(nvmlDeviceGetClock)
NOT_SUPPORTED(nvmlDeviceGetClockInfo)
NOT_SUPPORTED(nvmlDeviceGetClockOffsets)
NOT_SUPPORTED(nvmlDeviceGetComputeMode)
NOT_SUPPORTED(nvmlDeviceGetConfComputeMemSizeInfo)
NOT_SUPPORTED(nvmlDeviceGetCoolerInfo)
NOT_SUPPORTED(nvmlDeviceGetCreatableVgpus)
NOT_SUPPORTED(nvmlDeviceGetCudaComputeCapability)
NOT_SUPPORTED(nvmlDeviceGetCurrentClocksEventReasons)
NOT_SUPPORTED(nvmlDeviceGetCurrentClocksThrottleReasons)
NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkGeneration)
NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkWidth)
NOT_SUPPORTED(nvmlDeviceGetDecoderUtilization)
NOT_SUPPORTED(nvmlDeviceGetDefaultApplicationsClock)
NOT_SUPPORTED(nvmlDeviceGetDefaultEccMode)
NOT_SUPPORTED(nvmlDeviceGetDetailedEccErrors)
NOT_SUPPORTED(nvmlDeviceGetDisplayActive)
NOT_SUPPORTED(nvmlDeviceGetDisplayMode)
NOT_SUPPORTED(nvmlDeviceGetDriverModel)
NOT_SUPPORTED(nvmlDeviceGetDriverModel_v2)
NOT_SUPPORTED(nvmlDeviceGetDynamicPstatesInfo)
NOT_SUPPORTED(nvmlDeviceGetEccMode)
NOT_SUPPORTED(nvmlDeviceGetEncoderCapacity)
NOT_SUPPORTED(nvmlDeviceGetEncoderSessions)
NOT_SUPPORTED(nvmlDeviceGetEncoderStats)
NOT_SUPPORTED(nvmlDeviceGetEncoderUtilization)
NOT_SUPPORTED(nvmlDeviceGetEnforcedPowerLimit)
NOT_SUPPORTED(nvmlDeviceGetFanControlPolicy_v2)
NOT_SUPPORTED(nvmlDeviceGetFanSpeed)
NOT_SUPPORTED(nvmlDeviceGetFanSpeed_v2)
NOT_SUPPORTED(nvmlDeviceGetFanSpeedRPM)
NOT_SUPPORTED(nvmlDeviceGetFBCSessions)
NOT_SUPPORTED(nvmlDeviceGetFBCStats)
NOT_SUPPORTED(nvmlDeviceGetFieldValues)
NOT_SUPPORTED(nvmlDeviceGetGpcClkMinMaxVfOffset)
NOT_SUPPORTED(nvmlDeviceGetGpcClkVfOffset)
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfo)
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfoV)
NOT_SUPPORTED(nvmlDeviceGetGpuInstancePossiblePlacements_v2)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceProfileInfo)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceProfileInfoV)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceRemainingCapacity)
NOT_SUPPORTED(nvmlDeviceGetGpuInstances)
NOT_SUPPORTED(nvmlDeviceGetGpuMaxPcieLinkGeneration)
NOT_SUPPORTED(nvmlDeviceGetGpuOperationMode)
NOT_SUPPORTED(nvmlDeviceGetGridLicensableFeatures_v4)
NOT_SUPPORTED(nvmlDeviceGetGspFirmwareMode)
NOT_SUPPORTED(nvmlDeviceGetGspFirmwareVersion)
NOT_SUPPORTED(nvmlDeviceGetHostVgpuMode)
NOT_SUPPORTED(nvmlDeviceGetInforomConfigurationChecksum)
NOT_SUPPORTED(nvmlDeviceGetInforomImageVersion)
NOT_SUPPORTED(nvmlDeviceGetInforomVersion)
NOT_SUPPORTED(nvmlDeviceGetIrqNum)
NOT_SUPPORTED(nvmlDeviceGetJpgUtilization)
NOT_SUPPORTED(nvmlDeviceGetLastBBXFlushTime)
NOT_SUPPORTED(nvmlDeviceGetMarginTemperature)
NOT_SUPPORTED(nvmlDeviceGetMaxClockInfo)
NOT_SUPPORTED(nvmlDeviceGetMaxCustomerBoostClock)
NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkGeneration)
NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkWidth)
NOT_SUPPORTED(nvmlDeviceGetMemClkMinMaxVfOffset)
NOT_SUPPORTED(nvmlDeviceGetMemClkVfOffset)
NOT_SUPPORTED(nvmlDeviceGetMemoryBusWidth)
NOT_SUPPORTED(nvmlDeviceGetMemoryErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetMinMaxClockOfPState)
NOT_SUPPORTED(nvmlDeviceGetMinMaxFanSpeed)
NOT_SUPPORTED(nvmlDeviceGetModuleId)
NOT_SUPPORTED(nvmlDeviceGetMultiGpuBoard)
NOT_SUPPORTED(nvmlDeviceGetNumaNodeId)
NOT_SUPPORTED(nvmlDeviceGetNumFans)
NOT_SUPPORTED(nvmlDeviceGetNumGpuCores)
NOT_SUPPORTED(nvmlDeviceGetNvLinkCapability)
NOT_SUPPORTED(nvmlDeviceGetNvLinkErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetNvLinkUtilizationControl)
NOT_SUPPORTED(nvmlDeviceGetNvLinkUtilizationCounter)
NOT_SUPPORTED(nvmlDeviceGetNvLinkVersion)
NOT_SUPPORTED(nvmlDeviceGetOfaUtilization)
NOT_SUPPORTED(nvmlDeviceGetPcieLinkMaxSpeed)
NOT_SUPPORTED(nvmlDeviceGetPcieReplayCounter)
NOT_SUPPORTED(nvmlDeviceGetPcieSpeed)
NOT_SUPPORTED(nvmlDeviceGetPcieThroughput)
NOT_SUPPORTED(nvmlDeviceGetPciInfoExt)
NOT_SUPPORTED(nvmlDeviceGetPerformanceModes)
NOT_SUPPORTED(nvmlDeviceGetPerformanceState)
NOT_SUPPORTED(nvmlDeviceGetPersistenceMode)
NOT_SUPPORTED(nvmlDeviceGetPgpuMetadataString)
NOT_SUPPORTED(nvmlDeviceGetPlatformInfo)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementDefaultLimit)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimit)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimitConstraints)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementMode)
NOT_SUPPORTED(nvmlDeviceGetPowerSource)
NOT_SUPPORTED(nvmlDeviceGetPowerState)
NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
NOT_SUPPORTED(nvmlDeviceGetProcessesUtilizationInfo)
NOT_SUPPORTED(nvmlDeviceGetProcessUtilization)
NOT_SUPPORTED(nvmlDeviceGetRemappedRows)
NOT_SUPPORTED(nvmlDeviceGetRetiredPages)
NOT_SUPPORTED(nvmlDeviceGetRetiredPages_v2)
NOT_SUPPORTED(nvmlDeviceGetRetiredPagesPendingStatus)
NOT_SUPPORTED(nvmlDeviceGetRowRemapperHistogram)
NOT_SUPPORTED(nvmlDeviceGetRunningProcessDetailList)
NOT_SUPPORTED(nvmlDeviceGetSamples)
NOT_SUPPORTED(nvmlDeviceGetSerial)
NOT_SUPPORTED(nvmlDeviceGetSramEccErrorStatus)
NOT_SUPPORTED(nvmlDeviceGetSupportedClocksEventReasons)
NOT_SUPPORTED(nvmlDeviceGetSupportedClocksThrottleReasons)
NOT_SUPPORTED(nvmlDeviceGetSupportedEventTypes)
NOT_SUPPORTED(nvmlDeviceGetSupportedGraphicsClocks)
NOT_SUPPORTED(nvmlDeviceGetSupportedMemoryClocks)
NOT_SUPPORTED(nvmlDeviceGetSupportedPerformanceStates)
NOT_SUPPORTED(nvmlDeviceGetSupportedVgpus)
NOT_SUPPORTED(nvmlDeviceGetTargetFanSpeed)
NOT_SUPPORTED(nvmlDeviceGetTemperature)
NOT_SUPPORTED(nvmlDeviceGetTemperatureThreshold)
NOT_SUPPORTED(nvmlDeviceGetTemperatureV)
NOT_SUPPORTED(nvmlDeviceGetThermalSettings)
NOT_SUPPORTED(nvmlDeviceGetTotalEccErrors)
NOT_SUPPORTED(nvmlDeviceGetTotalEnergyConsumption)
NOT_SUPPORTED(nvmlDeviceGetUtilizationRates)
NOT_SUPPORTED(nvmlDeviceGetVbiosVersion)
NOT_SUPPORTED(nvmlDeviceGetVgpuMetadata)
NOT_SUPPORTED(nvmlDeviceGetVgpuProcessUtilization)
NOT_SUPPORTED(nvmlDeviceGetVgpuUtilization)
NOT_SUPPORTED(nvmlDeviceGetViolationStatus)
NOT_SUPPORTED(nvmlDeviceGetVirtualizationMode)
