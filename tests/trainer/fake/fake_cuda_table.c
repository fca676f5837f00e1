/* SPDX-License-Identifier: MIT */
/* The table: each call under the lock, counted, with its status noted as the runtime does. */
#include "config.h"

#include "fake_cuda_private.h"

/* What cudaGetLastError() gives. */
static _Thread_local cudaError_t last;

cudaError_t fake_cudaGetLastError(void)
{
	cudaError_t status = last;

	last = cudaSuccess;
	return status;
}

static cudaError_t note(cudaError_t status)
{
	if (status != cudaSuccess)
		last = status;
	return status;
}

/* A launcher returns the last error, whichever call caused it. */
static cudaError_t launched(cudaError_t status)
{
	note(status);
	return fake_cudaGetLastError();
}

#define NOTE_RUNTIME(status) note(status)
#define NOTE_KERNELS(status) launched(status)
#define NOTE_CUDNN(status) (status)
#define NOTE_CUBLASLT(status) (status)
#define NOTE_NCCL(status) (status)
#define CALL(library, type, name, parameters, arguments) \
	static type locked_##name parameters \
	{ \
		type returned; \
\
		fake_lock(); \
		fake.made[CUDA_CALL_##name]++; \
		returned = fake_##name arguments; \
		fake_unlock(); \
		return NOTE_##library(returned); \
	}
#define QUERY(library, type, name, parameters, arguments)
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL

void fake_cuda_fill(struct cuda_calls *calls, enum cuda_library library)
{
#define CALL(of, type, name, parameters, arguments) \
	if (library == CUDA_LIBRARY_##of) \
		calls->name = locked_##name;
#define QUERY(of, type, name, parameters, arguments) \
	if (library == CUDA_LIBRARY_##of) \
		calls->name = fake_##name;
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
}
