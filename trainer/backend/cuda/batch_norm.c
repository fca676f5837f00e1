/* SPDX-License-Identifier: MIT */
/* Batch normalization by kernels: cuDNN's takes whole batches only. */
#include "config.h"

#include "backend/cuda/cuda.h"

struct norm {
	struct cuda_op base;
	struct batch_norm_shape shape;
};

static const struct norm *norm_of(const struct op *op)
{
	return (const struct norm *)op;
}

/* What is shared with other ranks: the values of this one, and behind them those of all. */
static double *own_values(const struct op_args *args)
{
	return args->scratch;
}

static double *all_values(const struct norm *n, const struct op_args *args)
{
	return own_values(args) + batch_norm_rank_values(&n->shape);
}

static size_t values_bytes(const struct batch_norm_shape *shape, int ranks)
{
	return (size_t)ranks * (size_t)batch_norm_rank_values(shape) * sizeof(double);
}

static bool gather(const struct norm *n, const struct op_args *args, struct train_error *error)
{
	return args->ranks->gather(args->ranks->argument, own_values(args), all_values(n, args),
				   values_bytes(&n->shape, 1), error);
}

static bool join_statistics(struct cuda_device *d, const struct norm *n, const struct op_args *args,
			    struct train_error *error)
{
	const struct batch_norm_join_statistics_args join = {
		.shape = n->shape,
		.all = all_values(n, args),
		.ranks = args->ranks->count,
		.weight = args->weight,
		.bias = args->bias,
		.running_mean = args->running_mean,
		.running_var = args->running_var,
		.saved = args->workspace,
		.eps = n->base.base.shape.eps,
		.momentum = n->base.base.shape.momentum,
	};

	return gather(n, args, error) && CUDA_KERNEL(d, batch_norm_join_statistics, &join, error);
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct norm *n = norm_of(op);
	bool together = args->training && args->ranks;
	const struct batch_norm_statistics_args statistics = {
		.shape = n->shape,
		.input = args->input,
		.control = args->control,
		.weight = args->weight,
		.bias = args->bias,
		.running_mean = args->running_mean,
		.running_var = args->running_var,
		.saved = args->workspace,
		.scratch = d->scratch,
		.eps = n->base.base.shape.eps,
		.momentum = n->base.base.shape.momentum,
		.training = args->training,
		.values = together ? own_values(args) : NULL,
	};
	const struct batch_norm_normalize_args normalize = {
		.shape = n->shape,
		.input = args->input,
		.control = args->training ? args->control : NULL,
		.saved = args->workspace,
		.output = args->output,
		.relu = op->shape.relu,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, batch_norm_statistics, &statistics, error) &&
	       (!together || join_statistics(d, n, args, error)) &&
	       CUDA_KERNEL(d, batch_norm_normalize, &normalize, error);
}

static bool join_sums(struct cuda_device *d, const struct norm *n, const struct op_args *args,
		      struct train_error *error)
{
	const struct batch_norm_join_sums_args join = {
		.shape = n->shape,
		.all = all_values(n, args),
		.ranks = args->ranks->count,
		.saved = args->workspace,
	};

	return gather(n, args, error) && CUDA_KERNEL(d, batch_norm_join_sums, &join, error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct norm *n = norm_of(op);
	const struct batch_norm_sums_args sums = {
		.shape = n->shape,
		.input = args->input,
		.output_gradient = args->output_gradient,
		.control = args->control,
		.weight_gradient = args->weight_gradient,
		.bias_gradient = args->bias_gradient,
		.saved = args->workspace,
		.scratch = d->scratch,
		.relu_backward = op->shape.relu_backward,
		.values = args->ranks ? own_values(args) : NULL,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, batch_norm_sums, &sums, error) &&
	       (!args->ranks || join_sums(d, n, args, error));
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct norm *n = norm_of(op);
	const struct batch_norm_backward_args backward = {
		.shape = n->shape,
		.input = args->input,
		.output_gradient = args->output_gradient,
		.control = args->control,
		.saved = args->workspace,
		.input_gradient = args->input_gradient,
		.relu_backward = op->shape.relu_backward,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, batch_norm_backward, &backward, error);
}

bool cuda_batch_norm(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error)
{
	static const struct op_calls calls = {.forward = forward,
					      .backward_weights = backward_weights,
					      .backward_data = backward_data};
	const struct layout *in = &shape->input;
	struct norm *n = op_new(sizeof(*n), device, &calls, shape);
	struct op_info *info = &n->base.base.info;

	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &n->base.input_order);
	info->output = cuda_nhwc(in, in->channels, in->height, in->width, &n->base.output_order);
	n->shape = (struct batch_norm_shape){
		.rows = in->batch * in->height * in->width,
		.columns = cuda_channels(&info->input),
		.channels = in->channels,
		.places = in->height * in->width,
		.type = in->type,
	};
	info->weights = info->biases = in->channels;
	info->workspace = BATCH_NORM_SAVED * (size_t)n->shape.columns * sizeof(float);
	info->scratch = shape->ranks > 0 ? values_bytes(&n->shape, 1 + shape->ranks) : 0;
	info->algorithm = "kernel";
	return op_give(op, &n->base.base,
		       cuda_want_scratch((struct cuda_device *)device,
					 batch_norm_scratch(&n->shape), error));
}
