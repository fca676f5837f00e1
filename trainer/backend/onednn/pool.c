/* SPDX-License-Identifier: MIT */
/* Max-pooling and global average pooling by loops of the trainer's own. */
#include "backend/cpu/mean_pool.h"
#include "backend/cpu/pool.h"
#include "backend/onednn/planes.h"

struct max_op {
	struct op base;
	struct cpu_pool pool;
	struct onednn_planes input, output;
};

struct mean_op {
	struct op base;
	struct cpu_mean_pool pool;
	struct onednn_planes input;
};

/* --- max-pooling ----------------------------------------------------------------------------- */

static bool max_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct max_op *own = (struct max_op *)op;

	cpu_pool_forward(&own->pool, cpu_team_of(op->device), args->input, args->output,
			 args->workspace);
	return true;
}

static bool max_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct max_op *own = (struct max_op *)op;

	cpu_pool_backward(&own->pool, cpu_team_of(op->device), args->input_gradient,
			  args->output_gradient, args->output, args->workspace);
	return true;
}

static void max_free(struct op *op)
{
	struct max_op *own = (struct max_op *)op;

	onednn_planes_free(&own->input);
	onednn_planes_free(&own->output);
}

static bool max_plan(struct max_op *own, const struct op_shape *shape, struct train_error *error)
{
	struct op_info *info = &own->base.info;
	struct layout *in = &info->input;

	if (shape->kernel > CPU_POOL_MAX_KERNEL)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "device %d: max-pooling of %d x %d is not supported, only up to "
				  "%d; use --backend reference",
				  own->base.device->physical, shape->kernel, shape->kernel,
				  (int)CPU_POOL_MAX_KERNEL);
	info->output =
		layout_host(in->type, in->batch, in->channels, op_output_size(in->height, shape),
			    op_output_size(in->width, shape));
	onednn_planes_find(&own->input, in);
	onednn_planes_like(&own->output, &own->input, &info->output);
	info->algorithm = "loops";
	info->workspace = info->output.bytes / value_bytes(in->type);
	own->pool = (struct cpu_pool){
		.type = in->type,
		.planes = in->batch * own->input.groups,
		.inner = own->input.inner,
		.in_height = in->height,
		.in_width = in->width,
		.out_height = info->output.height,
		.out_width = info->output.width,
		.kernel = shape->kernel,
		.stride = shape->stride,
		.pad = shape->pad,
		.relu_backward = shape->relu_backward,
	};
	return true;
}

bool onednn_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = max_forward, .backward_data = max_backward, .free = max_free};
	struct max_op *own = op_new(sizeof(*own), device, &calls, shape);

	return op_give(op, &own->base, max_plan(own, shape, error));
}

/* --- global average pooling ------------------------------------------------------------------ */

static bool mean_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	cpu_mean_pool_forward(&((struct mean_op *)op)->pool, cpu_team_of(op->device), args->input,
			      args->output);
	return true;
}

static bool mean_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	cpu_mean_pool_backward(&((struct mean_op *)op)->pool, cpu_team_of(op->device),
			       args->input_gradient, args->output_gradient);
	return true;
}

static void mean_free(struct op *op)
{
	struct mean_op *own = (struct mean_op *)op;

	onednn_planes_free(&own->input);
}

bool onednn_mean_pool(struct op **op, struct device *device, const struct op_shape *shape,
		      struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = mean_forward, .backward_data = mean_backward, .free = mean_free};
	struct mean_op *own = op_new(sizeof(*own), device, &calls, shape);
	struct op_info *info = &own->base.info;
	struct layout *in = &info->input;

	onednn_planes_find(&own->input, in);
	info->output = layout_host(in->type, in->batch, in->channels, 1, 1);
	info->algorithm = "loops";
	own->pool = (struct cpu_mean_pool){
		.type = in->type,
		.samples = in->batch,
		.groups = own->input.groups,
		.places = in->height * in->width,
		.inner = own->input.inner,
		.channels = in->channels,
	};
	*op = &own->base;
	return true;
}
