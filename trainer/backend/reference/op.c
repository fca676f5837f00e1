/* SPDX-License-Identifier: MIT */
/* What operations of the reference backend share. */
#include "backend/reference/reference.h"

struct op *reference_new(struct op **op, struct device *device, const struct op_calls *calls,
			 const struct op_shape *shape)
{
	struct op *made = op_new(sizeof(*made), device, calls, shape);

	made->info.algorithm = "loops";
	*op = made;
	return made;
}

void reference_op_relu_backward(const struct op *op, const struct op_args *args)
{
	const struct layout *out = &op->info.output;

	if (!op->shape.relu_backward)
		return;
	for (int64_t i = 0; i < layout_values(out); i++)
		if (!(value_get(out->type, args->output, i) > 0.0))
			value_set(out->type, args->output_gradient, i, 0.0);
}
