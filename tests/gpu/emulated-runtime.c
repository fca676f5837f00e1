/* SPDX-License-Identifier: MIT */
/* The calls of the CUDA runtime that the trials of kernels make, on the host: all work at once. */
#include "emulated-runtime.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

cudaError_t emulated_status = cudaSuccess;

/* cudaGetDeviceProperties is a macro of some versions. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	memset(properties, 0, sizeof(*properties));
	strcpy(properties->name, "emulated");
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	const char *fault = getenv("PRETENDED_FAULT");

	*count = 1;
	return fault && strcmp(fault, "start:none") == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = 0;
	return cudaSuccess;
}

/* All kernels are of the newest GPUs. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->ptxVersion = 90;
	return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
	return code == cudaErrorInvalidValue     ? "invalid argument"
	       : code == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
	       : code == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
						 : "emulated error";
}

/* Aligned as the device's. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
	if (emulated_status != cudaSuccess)
		return emulated_status;
	return posix_memalign(memory, 256, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
	free(memory);
	return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	memcpy(to, from, bytes);
	return emulated_status;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	*stream = NULL;
	return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return emulated_status;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	*event = malloc(sizeof(double));
	return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*(double *)(void *)event = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
	return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
	*milliseconds = (float)(*(double *)(void *)end - *(double *)(void *)begin);
	return cudaSuccess;
}

/* Nothing is recorded. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return cudaErrorNotSupported;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	*graph = NULL;
	return cudaErrorNotSupported;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	*exec = NULL;
	return cudaErrorNotSupported;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return cudaErrorNotSupported;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return cudaErrorNotSupported;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return cudaErrorNotSupported;
}
