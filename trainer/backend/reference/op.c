/* SPDX-License-Identifier: MIT */
/* What operations of the reference backend share. */
#include "backend/reference/reference.h"

struct reference_op *reference_new(struct op **op, struct device *device,
				   const struct layout *input, const struct op_calls *calls,
				   struct train_error *error)
{
	struct reference_op *r = op_new(sizeof(*r), device, calls, "an operation", error);

	if (!r)
		return NULL;
	r->base.info.input = *input;
	r->base.info.algorithm = "loops";
	*op = &r->base;
	return r;
}

void reference_op_relu_backward(const struct reference_op *r, const struct op_args *args)
{
	const struct layout *out = &r->base.info.output;

	if (!r->relu_backward)
		return;
	for (int64_t i = 0; i < layout_values(out); i++)
		if (!(value_get(out->type, args->output, i) > 0.0))
			value_set(out->type, args->output_gradient, i, 0.0);
}
