/* SPDX-License-Identifier: MIT */
/* sum[i] += more[i]. */
#ifndef KERNELS_ADD_H
#define KERNELS_ADD_H

#include <stdint.h>

struct add_args {
	float *sum;        /* (count), any alignment of a float */
	const float *more; /* (count), the same; may be sum */
	int64_t count;
};

#endif
