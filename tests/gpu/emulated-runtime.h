/* SPDX-License-Identifier: MIT */
/* What the emulated runtime of CUDA answers once a kernel has failed. */
#ifndef EMULATED_RUNTIME_H
#define EMULATED_RUNTIME_H

#include <cuda_runtime_api.h>

extern cudaError_t emulated_status;

#endif
