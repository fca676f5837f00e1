/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "inject.h"

static struct cuda_calls inner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint_least64_t calls_made, fail_at;
static atomic_bool lasting, hangs;
static const char *hang_name;
static atomic_int first = CUDA_CALLS;

int inject_status(enum cuda_library library)
{
	switch (library) {
	case CUDA_LIBRARY_CUDNN:
		return CUDNN_STATUS_EXECUTION_FAILED;
	case CUDA_LIBRARY_CUBLASLT:
		return CUBLAS_STATUS_EXECUTION_FAILED;
#ifdef HAVE_NCCL
	case CUDA_LIBRARY_NCCL:
		return ncclUnhandledCudaError;
#endif
	default:
		return cudaErrorECCUncorrectable;
	}
}

/* After inject_hang() only calls of that name are counted. */
static bool hangs_now(enum cuda_call call)
{
	while (atomic_load(&hangs))
		pause();
	if (strcmp(cuda_call_name(call), hang_name) != 0 ||
	    atomic_fetch_add(&calls_made, 1) + 1 != atomic_load(&fail_at))
		return false;
	atomic_store(&hangs, true);
	return true;
}

static bool fails_now(enum cuda_call call)
{
	uint64_t now, at = atomic_load(&fail_at);
	int none = CUDA_CALLS;

	if (hang_name)
		return hangs_now(call);
	now = atomic_fetch_add(&calls_made, 1) + 1;
	if (at == 0 || now < at || (now > at && !atomic_load(&lasting)))
		return false;
	atomic_compare_exchange_strong(&first, &none, (int)call);
	return true;
}

/* A call that ends something is made even if it fails. So is a call that begins or ends a group. */
static bool ends_something(const char *name)
{
	return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Abort") ||
	       strstr(name, "Group");
}

/* Ends a capture without a graph. */
static void end_capture(cudaStream_t stream, cudaGraph_t *graph)
{
	if (inner.cudaStreamEndCapture(stream, graph) == cudaSuccess)
		inner.cudaGraphDestroy(*graph);
	*graph = NULL;
}

#define CALL(library, type, name, parameters, arguments) \
	static type wrapped_##name parameters \
	{ \
		if (!fails_now(CUDA_CALL_##name)) \
			return inner.name arguments; \
		if (ends_something(#name)) \
			inner.name arguments; \
		return (type)inject_status(CUDA_LIBRARY_##library); \
	}
#define QUERY(library, type, name, parameters, arguments)
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL

static cudaError_t wrapped_end_capture(cudaStream_t stream, cudaGraph_t *graph)
{
	if (!fails_now(CUDA_CALL_cudaStreamEndCapture))
		return inner.cudaStreamEndCapture(stream, graph);
	end_capture(stream, graph);
	return (cudaError_t)inject_status(CUDA_LIBRARY_RUNTIME);
}

void inject_wrap(struct cuda_calls *calls, enum cuda_library library)
{
	pthread_mutex_lock(&lock);
#define CALL(of, type, name, parameters, arguments) \
	if (library == CUDA_LIBRARY_##of) { \
		if (inner.name != calls->name) \
			inner.name = calls->name; \
		calls->name = wrapped_##name; \
	}
#define QUERY(of, type, name, parameters, arguments) \
	if (library == CUDA_LIBRARY_##of && inner.name != calls->name) \
		inner.name = calls->name;
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
	if (library == CUDA_LIBRARY_RUNTIME)
		calls->cudaStreamEndCapture = wrapped_end_capture;
	pthread_mutex_unlock(&lock);
}

void inject_at(uint64_t n, bool lasts)
{
	atomic_store(&fail_at, 0);
	atomic_store(&calls_made, 0);
	atomic_store(&lasting, lasts);
	atomic_store(&first, CUDA_CALLS);
	atomic_store(&fail_at, n);
}

void inject_hang(const char *name)
{
	hang_name = name;
}

uint64_t inject_count(void)
{
	return atomic_load(&calls_made);
}

enum cuda_call inject_failed(void)
{
	return (enum cuda_call)atomic_load(&first);
}
