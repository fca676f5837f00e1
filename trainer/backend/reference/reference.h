/* SPDX-License-Identifier: MIT */
/* The parts of the reference backend. */
#ifndef TRAIN_BACKEND_REFERENCE_H
#define TRAIN_BACKEND_REFERENCE_H

#include "backend/cpu/cpu.h"

/* A new operation, also in *op. */
struct op *reference_new(struct op **op, struct device *device, const struct op_calls *calls,
			 const struct op_shape *shape);
/* With relu_backward, gradients of an output <= 0 become zero. */
void reference_op_relu_backward(const struct op *op, const struct op_args *args);

/* Of a channel of its input. */
static inline int64_t places_of(const struct op *op)
{
	return op->info.input.height * op->info.input.width;
}

op_make reference_op_max_pool, reference_op_mean_pool, reference_op_batch_norm;

#endif
