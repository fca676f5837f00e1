/* SPDX-License-Identifier: MIT */
/* Addition and ReLU's derivative, by loops of the trainer's own. */
#include "backend/cpu/addition.h"
#include "backend/onednn/onednn.h"

/* All values of its output. */
static struct cpu_addition values_of(const struct op *op)
{
	enum value_type type = op->info.output.type;

	return (struct cpu_addition){.type = type,
				     .count = (int64_t)(op->info.output.bytes / value_bytes(type)),
				     .relu = op->shape.relu};
}

static bool addition_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	const struct cpu_addition addition = values_of(op);

	cpu_addition_forward(&addition, cpu_team_of(op->device), args->input, args->addend,
			     args->output);
	return true;
}

void onednn_relu_backward(const struct op *op, const struct op_args *args)
{
	const struct cpu_addition values = values_of(op);

	cpu_addition_backward(&values, cpu_team_of(op->device), args->output,
			      args->output_gradient);
}

static bool addition_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	onednn_relu_backward(op, args);
	return true;
}

/* All values of a layout are added alike, its padding too: zeros, which stay zeros. */
bool onednn_addition(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error)
{
	static const struct op_calls plain = {.forward = addition_forward};
	static const struct op_calls relu = {.forward = addition_forward,
					     .backward_data = addition_backward};
	enum value_type type = shape->input.type;
	struct op *made;

	if (type != VALUE_FLOAT32 && type != VALUE_BFLOAT16)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "device %d: addition of %s values is not supported, only float32 "
				  "and bfloat16; use --backend reference",
				  device->physical, value_name(type));
	made = op_new(sizeof(*made), device, shape->relu_backward ? &relu : &plain, shape);
	made->info.algorithm = "loops";
	*op = made;
	return true;
}
