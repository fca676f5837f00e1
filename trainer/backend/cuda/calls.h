/* SPDX-License-Identifier: MIT */
/*
 * The way to CUDA's runtime, cuDNN, cuBLASLt, NCCL and the kernels of kernels/: a table with a
 * pointer for every function of cuda/calls.def, by its own name. The trainer calls them only
 * through a table, so that tests can give the backend another one, which computes on the CPU or
 * fails the n-th call.
 *
 *     struct cuda_calls calls;
 *
 *     if (!cuda_calls_load(&calls, CUDA_LIBRARY_RUNTIME, error))
 *             return false;
 *     status = calls.cudaMalloc(&memory, bytes);
 *     if (status != cudaSuccess)
 *             return cuda_calls_fail(&calls, CUDA_LIBRARY_RUNTIME, status, "cudaMalloc", where,
 * error);
 *
 * The runtime and the kernels are linked. The others are opened when they are needed: cuDNN is half
 * a gigabyte, and the program must run on a machine without it or without a driver.
 */
#ifndef TRAIN_CUDA_CALLS_H
#define TRAIN_CUDA_CALLS_H

/* All files have NCCL's rows of the table, or none has. */
#include "config.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stddef.h>
#include <stdint.h>
#ifdef HAVE_NCCL
#include <nccl.h>
#endif

#include "base/error.h"
#include "kernels/launchers.h"

enum cuda_library {
	CUDA_LIBRARY_RUNTIME,
	CUDA_LIBRARY_KERNELS,
	CUDA_LIBRARY_CUDNN,
	CUDA_LIBRARY_CUBLASLT,
	CUDA_LIBRARY_NCCL,
	CUDA_LIBRARIES
};

struct cuda_calls {
#define CALL(library, type, name, parameters, arguments) type(*name) parameters;
#define QUERY CALL
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
};

/* The calls that return a status, in the order of the table: CUDA_CALL_cudaMalloc and so on. */
enum cuda_call {
#define CALL(library, type, name, parameters, arguments) CUDA_CALL_##name,
#define QUERY(library, type, name, parameters, arguments)
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
	CUDA_CALLS
};

/*
 * Fills the rows of one library. Other rows are unchanged, and on failure all are. An error has the
 * status TRAIN_NO_BACKEND and names what is missing, with the remedy: the library, one of its
 * functions, or NCCL in this build. A library stays open until the process ends.
 */
bool cuda_calls_load(struct cuda_calls *calls, enum cuda_library library,
		     struct train_error *error);

/* How many GPUs CUDA sees: *count > 0. Otherwise false, with TRAIN_NO_BACKEND and the reason: no
 * driver, a driver that is too old, or no visible GPU. Needs the runtime. */
bool cuda_calls_devices(const struct cuda_calls *calls, int *count, struct train_error *error);

/* "cuDNN": the name for messages. */
const char *cuda_library_name(enum cuda_library library);

/* The name of a call, "cudaMalloc", and its library. A kernel's status is one of the runtime. */
const char *cuda_call_name(enum cuda_call call);
enum cuda_library cuda_call_library(enum cuda_call call);

/*
 * Notes that `call` returned `status`, which is not success: "WHERE: CALL: NAME (NUMBER): the
 * library's description". `where` names the device and what was being done. For the runtime and the
 * kernels it also clears the thread's last error, so that a later call does not return it. Then
 * calls train_device_failed. Returns false.
 */
bool cuda_calls_fail(const struct cuda_calls *calls, enum cuda_library library, int status,
		     const char *call, const char *where, struct train_error *error);

#endif
