/* SPDX-License-Identifier: MIT */
/* output[i] = a[i] + b[i]; with relu 0 where that is below 0 (a NaN stays). */
#ifndef KERNELS_ADDITION_H
#define KERNELS_ADDITION_H

#include "kernels/value.h"

struct addition_args {
	const void *a, *b; /* (count) */
	void *output;      /* (count); may be a or b */
	int64_t count;
	int32_t relu;
	enum value_type type; /* of all */
};

#endif
