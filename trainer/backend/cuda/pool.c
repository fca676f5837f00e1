/* SPDX-License-Identifier: MIT */
/* Pooling by kernels. */
#include "config.h"

#include "backend/cuda/cuda.h"

/* --- max-pooling ----------------------------------------------------------------------------- */

struct pool {
	struct cuda_op base;
	float *sums; /* (channels), padded: a dummy for the bias gradient of the operation before */
};

static struct pool *pool_of(struct op *op)
{
	return (struct pool *)op;
}

/* Where the sums for the bias gradient go; NULL: they are not wanted. */
static float *sums_of(const struct pool *p, const struct op_args *args)
{
	return args->bias_gradient && p->sums ? p->sums : args->bias_gradient;
}

/* Without the sums of padding. */
static bool copy_sums(struct op *op, const struct op_args *args, struct train_error *error)
{
	const float *sums = sums_of(pool_of(op), args);

	return sums == args->bias_gradient ||
	       cuda_copy(op->device, args->bias_gradient, op->device, sums,
			 (size_t)op->info.input.channels * sizeof(float), error);
}

static struct max_pool_shape pool_shape(struct op *op)
{
	const struct layout *in = &op->info.input, *out = &op->info.output;

	return (struct max_pool_shape){
		.batch = in->batch,
		.height = (int32_t)in->height,
		.width = (int32_t)in->width,
		.channels = cuda_channels(in),
		.out_height = (int32_t)out->height,
		.out_width = (int32_t)out->width,
		.kernel = op->shape.kernel,
		.stride = op->shape.stride,
		.pad = op->shape.pad,
		.type = in->type,
	};
}

static bool pool_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct max_pool_args pool = {
		.shape = pool_shape(op),
		.input = args->input,
		.output = args->output,
		.places = args->workspace,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, max_pool, &pool, error);
}

static bool pool_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct max_pool_backward_args pool = {
		.shape = pool_shape(op),
		.output_gradient = args->output_gradient,
		.output = op->shape.relu_backward ? args->output : NULL,
		.places = args->workspace,
		.input_gradient = args->input_gradient,
		.sums = sums_of(pool_of(op), args),
		.scratch = d->scratch,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, max_pool_backward, &pool, error) &&
	       copy_sums(op, args, error);
}

static void pool_free(struct op *op)
{
	cuda_release(op->device, pool_of(op)->sums);
}

static bool pool_plan(struct pool *p, const struct op_shape *shape, struct train_error *error)
{
	const struct layout *in = &shape->input;
	struct op_info *info = &p->base.base.info;
	struct device *device = p->base.base.device;
	struct max_pool_shape pool;

	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &p->base.input_order);
	info->output = cuda_nhwc(in, in->channels, op_output_size(in->height, shape),
				 op_output_size(in->width, shape), &p->base.output_order);
	info->workspace = info->output.bytes / value_bytes(in->type);
	info->algorithm = "kernel";
	pool = pool_shape(&p->base.base);
	if (!cuda_want_scratch((struct cuda_device *)device, max_pool_scratch(&pool), error))
		return false;
	if (cuda_channels(&info->input) == in->channels)
		return true;
	p->sums = cuda_allocate(device, (size_t)cuda_channels(&info->input) * sizeof(float),
				"the gradient of a bias", error);
	return p->sums;
}

bool cuda_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
		   struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = pool_forward, .backward_data = pool_backward, .free = pool_free};
	struct pool *p;

	if (shape->kernel > MAX_POOL_MAX_KERNEL)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "pooling by %d: on a GPU the maximum is %d", shape->kernel,
				  (int)MAX_POOL_MAX_KERNEL);
	p = op_new(sizeof(*p), device, &calls, shape);
	return op_give(op, &p->base.base, pool_plan(p, shape, error));
}

/* --- global average pooling ------------------------------------------------------------------ */

static bool mean_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *in = &op->info.input;
	const struct mean_pool_args mean = {
		.input = args->input,
		.output = args->output,
		.batch = in->batch,
		.places = in->height * in->width,
		.channels = (int32_t)in->channels,
		.padded = cuda_channels(in),
		.type = in->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, mean_pool, &mean, error);
}

static bool mean_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *in = &op->info.input;
	const struct mean_pool_backward_args mean = {
		.output_gradient = args->output_gradient,
		.input_gradient = args->input_gradient,
		.batch = in->batch,
		.places = in->height * in->width,
		.channels = (int32_t)in->channels,
		.padded = cuda_channels(in),
		.type = in->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, mean_pool_backward, &mean, error);
}

bool cuda_mean_pool(struct op **op, struct device *device, const struct op_shape *shape,
		    struct train_error *error)
{
	static const struct op_calls calls = {.forward = mean_forward,
					      .backward_data = mean_backward};
	const struct layout *in = &shape->input;
	struct cuda_op *own = op_new(sizeof(*own), device, &calls, shape);

	own->base.info.input =
		cuda_nhwc(in, in->channels, in->height, in->width, &own->input_order);
	own->base.info.output = layout_host(in->type, in->batch, in->channels, 1, 1);
	own->base.info.algorithm = "kernel";
	*op = &own->base;
	return true;
}
