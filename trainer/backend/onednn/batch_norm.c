/* SPDX-License-Identifier: MIT */
/* Batch normalization by loops of the trainer's own: oneDNN's takes whole batches only. */
#include "backend/cpu/batch_norm.h"
#include "backend/onednn/planes.h"

struct norm_op {
	struct op base;
	struct cpu_batch_norm norm;
	struct onednn_planes input;
};

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	return cpu_batch_norm_forward(&((struct norm_op *)op)->norm, cpu_team_of(op->device), args,
				      error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	return cpu_batch_norm_backward_weights(&((struct norm_op *)op)->norm,
					       cpu_team_of(op->device), args, error);
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	cpu_batch_norm_backward_data(&((struct norm_op *)op)->norm, cpu_team_of(op->device), args);
	return true;
}

static void norm_free(struct op *op)
{
	onednn_planes_free(&((struct norm_op *)op)->input);
}

bool onednn_batch_norm(struct op **op, struct device *device, const struct op_shape *shape,
		       struct train_error *error)
{
	static const struct op_calls calls = {.forward = forward,
					      .backward_weights = backward_weights,
					      .backward_data = backward_data,
					      .free = norm_free};
	struct norm_op *own = op_new(sizeof(*own), device, &calls, shape);
	struct op_info *info = &own->base.info;
	struct layout *in = &info->input;

	onednn_planes_find(&own->input, in);
	own->norm = (struct cpu_batch_norm){
		.type = in->type,
		.samples = in->batch,
		.groups = own->input.groups,
		.places = in->height * in->width,
		.inner = own->input.inner,
		.channels = in->channels,
		.relu = shape->relu,
		.relu_backward = shape->relu_backward,
		.eps = shape->eps,
		.momentum = shape->momentum,
		.ranks = shape->ranks,
	};
	info->output = *in;
	info->weights = info->biases = in->channels;
	info->workspace = cpu_batch_norm_workspace(&own->norm);
	info->scratch = cpu_batch_norm_scratch(&own->norm);
	info->data_reads_input = true;
	info->relu_from_input = true;
	info->algorithm = "loops";
	*op = &own->base;
	return true;
}
