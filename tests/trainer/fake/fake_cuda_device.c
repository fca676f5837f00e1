/* SPDX-License-Identifier: MIT */
/* Devices: how many, which one the thread has chosen, what they are. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "fake_cuda_private.h"

enum { CUDA = 13000, PROCESSORS = 8 };

static _Thread_local int chosen;

static bool exists(int device)
{
	return device >= 0 && device < fake.options.devices;
}

int device_current(void)
{
	/* Another test of this thread had more of them. */
	if (!exists(chosen))
		chosen = 0;
	fake.devices[chosen].context = true;
	return chosen;
}

cudaError_t device_state(int device)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (!exists(device))
		return cudaErrorNoDevice;
	return fake.devices[device].broken;
}

cudaError_t fake_cudaGetDeviceCount(int *count)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (fake.options.devices == 0)
		return cudaErrorNoDevice;
	*count = fake.options.devices;
	return cudaSuccess;
}

cudaError_t fake_cudaSetDevice(int device)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (!exists(device))
		return cudaErrorInvalidDevice;
	chosen = device;
	return device_state(device_current());
}

cudaError_t fake_cudaGetDevice(int *device)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	*device = exists(chosen) ? chosen : 0;
	return cudaSuccess;
}

cudaError_t fake_cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (!exists(device))
		return cudaErrorInvalidDevice;
	*properties = (struct cudaDeviceProp){.major = 9, .minor = 0};
	snprintf(properties->name, sizeof(properties->name), "Pretended GPU");
	for (size_t i = 0; i < sizeof(properties->uuid.bytes); i++)
		properties->uuid.bytes[i] = (char)(17 * device + (int)i + 1);
	properties->totalGlobalMem = fake.options.bytes;
	properties->multiProcessorCount = PROCESSORS;
	properties->maxThreadsPerBlock = 1024;
	properties->maxThreadsPerMultiProcessor = 2048;
	properties->warpSize = 32;
	properties->sharedMemPerBlock = 48 << 10;
	properties->l2CacheSize = 50 << 20;
	properties->asyncEngineCount = 3;
	properties->unifiedAddressing = 1;
	properties->concurrentKernels = 1;
	properties->pciBusID = 0x10 * (device + 1);
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (!exists(device))
		return cudaErrorInvalidDevice;
	if (size < 13)
		return cudaErrorInvalidValue;
	snprintf(text, (size_t)size, "0000:%02X:00.0", 0x10 * (device + 1));
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	device_current();
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	if (fake.options.count != cudaSuccess)
		return fake.options.count;
	if (!exists(device) || !exists(peer))
		return cudaErrorInvalidDevice;
	*can = device != peer && !fake.options.no_peers;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	int device = device_current();
	cudaError_t status = device_state(device);

	if (status != cudaSuccess)
		return status;
	if (flags != 0)
		return cudaErrorInvalidValue;
	if (!exists(peer) || peer == device)
		return cudaErrorInvalidDevice;
	if (fake.options.no_peers)
		return cudaErrorPeerAccessUnsupported;
	if (fake.devices[device].peers[peer])
		return cudaErrorPeerAccessAlreadyEnabled;
	fake.devices[device].peers[peer] = true;
	return cudaSuccess;
}

cudaError_t fake_cudaDriverGetVersion(int *version)
{
	*version = fake.options.count != cudaSuccess ? fake.options.driver : CUDA;
	return cudaSuccess;
}

cudaError_t fake_cudaRuntimeGetVersion(int *version)
{
	*version = CUDA;
	return cudaSuccess;
}

static const struct {
	cudaError_t status;
	const char *name, *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorStubLibrary, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
	{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
	 "peer access is not supported between these two devices"},
	{cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
	 "peer access is already enabled"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	 "invalid resource handle"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
	 "an illegal memory access was encountered"},
	{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
	{cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable",
	 "uncorrectable ECC error encountered"},
	{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
	 "operation not permitted when stream is capturing"},
	{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
	 "operation failed due to a previous error during capture"},
	{cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
	 "operation would result in a merge of separate capture sequences"},
	{cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
	 "capture was not ended in the same stream as it began"},
	{cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
	 "capturing stream has unjoined work"},
	{cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
	 "dependency created on uncaptured work in another stream"},
	{cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
	 "operation not permitted on an event last recorded in a capturing stream"},
	{cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
	 "attempt to terminate a thread-local capture sequence from another thread"},
};

enum { ERRORS = sizeof(errors) / sizeof(*errors) };

const char *fake_cudaGetErrorName(cudaError_t error)
{
	for (int i = 0; i < ERRORS; i++)
		if (errors[i].status == error)
			return errors[i].name;
	return "unrecognized error code";
}

const char *fake_cudaGetErrorString(cudaError_t error)
{
	for (int i = 0; i < ERRORS; i++)
		if (errors[i].status == error)
			return errors[i].text;
	return "unrecognized error code";
}
