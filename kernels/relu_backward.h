/* SPDX-License-Identifier: MIT */
/* gradient[i] = 0 unless output[i] is above 0 (a NaN is not). bias_gradient.h can do it too. */
#ifndef KERNELS_RELU_BACKWARD_H
#define KERNELS_RELU_BACKWARD_H

#include "kernels/value.h"

struct relu_backward_args {
	void *gradient;     /* (count) */
	const void *output; /* (count) */
	int64_t count;
	enum value_type type; /* of both */
};

#endif
