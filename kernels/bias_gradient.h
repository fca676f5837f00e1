/* SPDX-License-Identifier: MIT */
/*
 * Sums over rows: the gradient of a bias, whose columns are channels and whose rows are the places
 * of a batch in NHWC. With `output`, gradients of an output that is not above 0 are first set to
 * zero in place (relu_backward of backend.h). Sums are in fp32, in an order that depends on the
 * shape (launch_columns()).
 */
#ifndef KERNELS_BIAS_GRADIENT_H
#define KERNELS_BIAS_GRADIENT_H

#include "kernels/value.h"
#include "kernels/launch.h"

struct bias_gradient_args {
	void *gradient;     /* (rows, columns) */
	const void *output; /* (rows, columns); NULL: gradient is only read */
	float *sums;        /* (columns), any alignment of a float; zeros where there are no rows */
	void *scratch;      /* bias_gradient_scratch() bytes, see kernels.h */
	int64_t rows, columns;
	enum value_type type; /* of gradient and output */
};

static inline size_t bias_gradient_scratch(int64_t rows, int64_t columns, enum value_type type)
{
	return launch_columns_scratch(rows, columns, type);
}

#endif
