/* SPDX-License-Identifier: MIT */
/* kernels/kernels.h */
#include "tests/trainer/kernels/references.h"

void reference_accumulate(const struct accumulate_args *args)
{
	for (int64_t i = 0; i < args->count; i++)
		args->sum[i] += args->more[i];
}
