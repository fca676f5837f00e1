/* SPDX-License-Identifier: MIT */
#include "kernels/references.h"

void reference_add(const struct add_args *args)
{
	for (int64_t i = 0; i < args->count; i++)
		args->sum[i] += args->more[i];
}
