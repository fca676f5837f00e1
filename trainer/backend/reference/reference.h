/* SPDX-License-Identifier: MIT */
/* The parts of the reference backend. */
#ifndef TRAIN_BACKEND_REFERENCE_H
#define TRAIN_BACKEND_REFERENCE_H

#include "backend/cpu/cpu.h"

struct reference_op {
	struct op base;
	int64_t kernel_h, kernel_w, pad, stride;
	double eps, momentum; /* batch normalization */
	bool relu, relu_backward;
};

/* A new operation in *op, which holds nothing else; NULL when there is no memory. */
struct reference_op *reference_new(struct op **op, struct device *device,
				   const struct layout *input, const struct op_calls *calls,
				   struct train_error *error);
/* With relu_backward, gradients of an output <= 0 become zero. */
void reference_op_relu_backward(const struct reference_op *r, const struct op_args *args);

bool reference_op_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
			   struct train_error *error);
bool reference_op_mean_pool(struct op **op, struct device *device, const struct op_shape *shape,
			    struct train_error *error);
bool reference_op_batch_norm(struct op **op, struct device *device, const struct op_shape *shape,
			     struct train_error *error);

#endif
