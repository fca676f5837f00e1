/* SPDX-License-Identifier: MIT */
/* Stands in place of backend/cuda/calls_load.c. $FAKE_CUDA_MISSING names missing libraries. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

bool cuda_calls_load(struct cuda_calls *calls, enum cuda_library library, struct train_error *error)
{
	const char *missing = getenv("FAKE_CUDA_MISSING");

	if (missing && strstr(missing, cuda_library_name(library)))
		return train_fail(error, TRAIN_NO_BACKEND, "%s is missing: install it",
				  cuda_library_name(library));
	fake_cuda_fill(calls, library);
	return true;
}
