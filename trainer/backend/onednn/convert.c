/* SPDX-License-Identifier: MIT */
/* Conversion from one layout or type to another. */
#include "backend/onednn/onednn.h"

struct convert_op {
	struct op base;
	struct onednn_task forward, backward;
};

static bool convert_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	return onednn_task_move(&((struct convert_op *)op)->forward, op->device, args->input,
				args->output, args->scratch, error);
}

static bool convert_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	return onednn_task_move(&((struct convert_op *)op)->backward, op->device,
				args->output_gradient, args->input_gradient, args->scratch, error);
}

static void convert_free(struct op *op)
{
	struct convert_op *own = (struct convert_op *)op;

	onednn_task_free(&own->backward);
	onednn_task_free(&own->forward);
}

static bool convert_plan(struct convert_op *own, const struct layout *from, const struct layout *to,
			 struct train_error *error)
{
	struct device *device = own->base.device;
	struct op_info *info = &own->base.info;
	ONEDNN_LAYOUT *host_from = onednn_host_layout(from, 4);
	ONEDNN_LAYOUT *host_to = onednn_host_layout(to, 4);
	const onednn_layout *a = from->order ? from->order : host_from;
	const onednn_layout *b = to->order ? to->order : host_to;

	if (!onednn_task_reorder(&own->forward, device, a, b, error) ||
	    !onednn_task_reorder(&own->backward, device, b, a, error))
		return false;
	info->scratch = own->forward.scratch > own->backward.scratch ? own->forward.scratch
								     : own->backward.scratch;
	onednn_layout_out(&info->input, onednn_task_layout(&own->forward, DNNL_ARG_FROM));
	onednn_layout_out(&info->output, onednn_task_layout(&own->forward, DNNL_ARG_TO));
	return true;
}

bool onednn_convert(struct op **op, struct device *device, const struct layout *from,
		    const struct layout *to, struct train_error *error)
{
	static const struct op_calls calls = {.forward = convert_forward,
					      .backward_data = convert_backward,
					      .free = convert_free};
	const struct op_shape shape = {.input = *from};
	struct convert_op *own = op_new(sizeof(*own), device, &calls, &shape);

	own->base.info.output = *to;
	own->base.info.algorithm = "reorder";
	return op_give(op, &own->base, convert_plan(own, from, to, error));
}
