/* SPDX-License-Identifier: MIT */
/* Pooling by kernels. */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda.h"

/* --- max-pooling -------------------------------------------------------------------------------
 */

struct pool {
	struct cuda_op base;
	int kernel;
	bool relu_backward;
	float *sums; /* (channels), padded: a dummy for the bias gradient of the operation before */
};

static struct pool *pool_of(struct op *op)
{
	return (struct pool *)op;
}

static bool pool_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *in = &op->info.input;
	const struct max_pool_args pool = {
		.input = args->input,
		.output = args->output,
		.places = args->workspace,
		.batch = in->batch,
		.height = (int32_t)in->height,
		.width = (int32_t)in->width,
		.channels = cuda_channels(in),
		.kernel = pool_of(op)->kernel,
		.type = in->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, max_pool, &pool, error);
}

static struct max_pool_backward_args backward_args(struct op *op, const struct op_args *args)
{
	struct pool *p = pool_of(op);
	const struct layout *in = &op->info.input;

	return (struct max_pool_backward_args){
		.output_gradient = args->output_gradient,
		.output = p->relu_backward ? args->output : NULL,
		.places = args->workspace,
		.input_gradient = args->input_gradient,
		.sums = args->bias_gradient && p->sums ? p->sums : args->bias_gradient,
		.scratch = cuda_device_of(op)->scratch,
		.batch = in->batch,
		.height = (int32_t)in->height,
		.width = (int32_t)in->width,
		.channels = cuda_channels(in),
		.kernel = p->kernel,
		.type = in->type,
	};
}

static bool pool_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct max_pool_backward_args pool = backward_args(op, args);

	if (!cuda_use(d, error) || !CUDA_KERNEL(d, max_pool_backward, &pool, error))
		return false;
	return pool.sums == args->bias_gradient ||
	       cuda_copy(op->device, args->bias_gradient, op->device, pool.sums,
			 (size_t)op->info.input.channels * sizeof(float), error);
}

static void pool_free(struct op *op)
{
	cuda_release(op->device, pool_of(op)->sums);
	free(op);
}

bool cuda_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
		   struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = pool_forward, .backward_data = pool_backward, .free = pool_free};
	const struct layout *in = &shape->input;
	struct cuda_device *d = (struct cuda_device *)device;
	struct pool *p = calloc(1, sizeof(*p));
	struct max_pool_backward_args args;
	struct op_info *info;

	if (shape->kernel > MAX_POOL_MAX_KERNEL) {
		free(p);
		return train_fail(error, TRAIN_BAD_INPUT,
				  "pooling by %d: on a GPU the maximum is %d", shape->kernel,
				  (int)MAX_POOL_MAX_KERNEL);
	}
	if (!p)
		return train_nomem(error, "a pooling");
	info = &p->base.base.info;
	p->base.base.calls = &calls;
	p->base.base.device = device;
	p->kernel = shape->kernel;
	p->relu_backward = shape->relu_backward;
	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &p->base.input_order);
	info->output = cuda_nhwc(in, in->channels, in->height / shape->kernel,
				 in->width / shape->kernel, &p->base.output_order);
	info->workspace = info->output.bytes / value_bytes(in->type);
	info->algorithm = "kernel";
	args = backward_args(&p->base.base, &(struct op_args){.bias_gradient = NULL});
	if (!cuda_want_scratch(d, max_pool_backward_scratch(&args), error))
		goto fail;
	if (args.channels != in->channels) {
		p->sums = cuda_allocate(device, (size_t)args.channels * sizeof(float),
					"the gradient of a bias", error);
		if (!p->sums)
			goto fail;
	}
	*op = &p->base.base;
	return true;
fail:
	pool_free(&p->base.base);
	return false;
}

/* --- global average pooling --------------------------------------------------------------------
 */

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

static void mean_free(struct op *op)
{
	free(op);
}

bool cuda_mean_pool(struct op **op, struct device *device, const struct op_shape *shape,
		    struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = mean_forward, .backward_data = mean_backward, .free = mean_free};
	const struct layout *in = &shape->input;
	struct cuda_op *own = calloc(1, sizeof(*own));

	if (!own)
		return train_nomem(error, "global average pooling");
	own->base.calls = &calls;
	own->base.device = device;
	own->base.info.input =
		cuda_nhwc(in, in->channels, in->height, in->width, &own->input_order);
	own->base.info.output = layout_host(in->type, in->batch, in->channels, 1, 1);
	own->base.info.algorithm = "kernel";
	*op = &own->base;
	return true;
}
