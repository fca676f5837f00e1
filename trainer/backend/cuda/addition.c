/* SPDX-License-Identifier: MIT */
/* Addition, by a kernel. */
#include "config.h"

#include "backend/cuda/cuda.h"

static bool addition_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *layout = &op->info.output;
	const struct residual_add_args addition = {
		.a = args->input,
		.b = args->addend,
		.output = args->output,
		.count = (int64_t)(layout->bytes / value_bytes(layout->type)),
		.relu = op->shape.relu,
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, residual_add, &addition, error);
}

static bool addition_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *layout = &op->info.output;
	const struct relu_backward_args relu = {
		.gradient = args->output_gradient,
		.output = args->output,
		.count = (int64_t)(layout->bytes / value_bytes(layout->type)),
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, relu_backward, &relu, error);
}

/* All values of a layout are added alike, its padding too. */
bool cuda_addition(struct op **op, struct device *device, const struct op_shape *shape,
		   struct train_error *error)
{
	static const struct op_calls plain = {.forward = addition_forward};
	static const struct op_calls relu = {.forward = addition_forward,
					     .backward_data = addition_backward};
	struct op *made =
		op_new(sizeof(*made), device, shape->relu_backward ? &relu : &plain, shape);

	made->info.algorithm = "kernel";
	*op = made;
	return true;
}
