/* SPDX-License-Identifier: MIT */
/* Parameters by name and shape, as PyTorch's state_dict has them: row-major, (out, in, kh, kw). */
#ifndef TRAIN_TENSOR_H
#define TRAIN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_MAX_DIMS = 4 };

struct tensor_shape {
	int dims;
	int64_t size[TENSOR_MAX_DIMS];
};

struct tensor {
	const char *name; /* "fc1.weight" */
	struct tensor_shape shape;
	float *data; /* on the host */
};

/* The number of elements; 1 for a scalar of no dimensions. */
static inline int64_t tensor_elements(const struct tensor_shape *shape)
{
	int64_t n = 1;

	for (int i = 0; i < shape->dims; i++)
		n *= shape->size[i];
	return n;
}

#endif
