/* SPDX-License-Identifier: MIT */
/* Stands in place of backend/cuda/calls_load.c: the pretended CUDA, with calls that fail. */
#include "config.h"

#include "fake_cuda.h"
#include "inject.h"

bool cuda_calls_load(struct cuda_calls *calls, enum cuda_library library, struct train_error *error)
{
	fake_cuda_fill(calls, library);
	inject_wrap(calls, library);
	return true;
}
