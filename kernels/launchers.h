/* SPDX-License-Identifier: MIT */
/*
 * cudaError_t kernel_NAME(const struct NAME_args *args, cudaStream_t stream) of each kernel of
 * kernels.def: puts the work on the stream and returns cudaGetLastError(). It does not allocate or
 * wait. With nothing to do it launches nothing and returns cudaSuccess; a type without a kernel is
 * cudaErrorInvalidValue.
 */
#ifndef KERNELS_LAUNCHERS_H
#define KERNELS_LAUNCHERS_H

#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL(name, args_struct) \
	cudaError_t kernel_##name(const struct args_struct *args, cudaStream_t stream);
#include "kernels/kernels.def"
#undef KERNEL

#ifdef __cplusplus
}
#endif

#endif
