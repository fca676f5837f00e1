/* SPDX-License-Identifier: MIT */
/* A convolution of data and the pooling after it by one kernel, where that takes less time than the
 * two operations. */
#include "config.h"

#include "backend/cuda/cuda.h"

/* --- the operation --------------------------------------------------------------------------- */

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *in = &op->info.input;
	const struct convolution_pool_args pool = {
		.input = args->input,
		.weight = args->weight,
		.bias = args->bias,
		.output = args->output,
		.places = args->workspace,
		.batch = in->batch,
		.height = (int32_t)in->height,
		.width = (int32_t)in->width,
		.channels = (int32_t)in->channels,
		.out = ((struct cuda_op *)op)->host.out,
		.type = in->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, convolution_pool, &pool, error);
}

static struct convolution_pool_backward_args backward_args(struct op *op,
							   const struct op_args *args)
{
	const struct layout *in = &op->info.input;

	return (struct convolution_pool_backward_args){
		.input = args->input,
		.output_gradient = args->output_gradient,
		.output = args->output,
		.places = args->workspace,
		.weight_gradient = args->weight_gradient,
		.bias_gradient = args->bias_gradient,
		.scratch = cuda_device_of(op)->scratch,
		.batch = in->batch,
		.height = (int32_t)in->height,
		.width = (int32_t)in->width,
		.channels = (int32_t)in->channels,
		.out = ((struct cuda_op *)op)->host.out,
		.type = in->type,
	};
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct convolution_pool_backward_args sums = backward_args(op, args);

	return cuda_use(d, error) && CUDA_KERNEL(d, convolution_pool_backward, &sums, error);
}

static bool plan_together(struct op **op, struct device *device, const struct op_shape *shape,
			  struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = forward,
		.backward_weights = backward_weights,
		.weight_write = cuda_weight_write,
		.weight_read = cuda_weight_read,
	};
	const struct layout *in = &shape->input;
	struct cuda_op *c = op_new(sizeof(*c), device, &calls, shape);
	struct convolution_pool_backward_args args;
	struct op_info *info = &c->base.info;

	c->host = (struct cuda_filter){shape->out, (int)in->channels, shape->kernel, shape->kernel};
	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &c->input_order);
	info->output = cuda_nhwc(in, shape->out, in->height / 2, in->width / 2, &c->output_order);
	info->weights = shape->out * in->channels * shape->kernel * shape->kernel;
	info->biases = shape->out;
	info->workspace = (size_t)(in->batch * (in->height / 2) * (in->width / 2) *
				   c->output_order.padded / 4);
	info->algorithm = "kernel with the pooling";
	args = backward_args(&c->base, &(struct op_args){.input = NULL});
	return op_give(op, &c->base,
		       cuda_want_scratch((struct cuda_device *)device,
					 convolution_pool_backward_scratch(&args), error));
}

/* --- the choice ------------------------------------------------------------------------------ */

/* The numbers of the ways. */
enum { TOGETHER, APART };

/* The same as one operation, and as two. */
struct comparison {
	struct op *together, *convolution, *pool;
};

/* Two operations cannot be planned while ways are tried, so they are planned before. */
static bool plan(struct comparison *c, struct device *device, const struct op_shape *convolution,
		 const struct op_shape *pool, struct train_error *error)
{
	struct op_shape shape = *pool;

	if (!plan_together(&c->together, device, convolution, error) ||
	    !cuda_convolution(&c->convolution, device, convolution, error))
		return false;
	shape.input = c->convolution->info.output;
	return cuda_max_pool(&c->pool, device, &shape, error);
}

/* Takes so many bytes from *at on, aligned to 256. */
static void *take(uintptr_t *at, size_t bytes)
{
	void *taken = (void *)*at;

	*at += (bytes + 255) / 256 * 256;
	return taken;
}

/* The addresses of a trial in memory from `at` on; returns its end. *between: of the output of the
 * convolution, and of its gradient. */
static uintptr_t place_operands(const struct comparison *c, uintptr_t at, struct op_args *args,
				void **between)
{
	const struct op_info *info = &c->together->info;
	size_t weights = (size_t)info->weights * sizeof(float);
	size_t biases = (size_t)info->biases * sizeof(float);

	args->weight = take(&at, weights);
	args->weight_gradient = take(&at, weights);
	args->bias = take(&at, biases);
	args->bias_gradient = take(&at, biases);
	args->input = take(&at, info->input.bytes);
	args->output = take(&at, info->output.bytes);
	args->output_gradient = take(&at, info->output.bytes);
	/* The pooling's places are bytes. */
	args->workspace = take(&at, c->pool->info.workspace);
	*between = take(&at, c->pool->info.input.bytes);
	return at;
}

/* What a step does with the two operations (model_prepare(), model_forward(), model_backward()). */
static bool run_apart(const struct comparison *c, const struct op_args *args, void *between,
		      struct train_error *error)
{
	const struct op_calls *calls = c->convolution->calls;
	struct op_args convolution = *args, pool = *args;

	convolution.output = convolution.output_gradient = between;
	pool.input = pool.input_gradient = between;
	return (c->convolution->info.weight_copy.memory ||
		calls->prepare(c->convolution, &convolution, error)) &&
	       calls->forward(c->convolution, &convolution, error) &&
	       c->pool->calls->forward(c->pool, &pool, error) &&
	       c->pool->calls->backward_data(c->pool, &pool, error) &&
	       calls->backward_weights(c->convolution, &convolution, error);
}

static bool run(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		struct train_error *error)
{
	const struct comparison *c = argument;
	struct op_args args = {.input = NULL};
	void *between;

	place_operands(c, (uintptr_t)operands, &args, &between);
	if (way->words[0] == APART)
		return run_apart(c, &args, between, error);
	return forward(c->together, &args, error) && backward_weights(c->together, &args, error);
}

/* A deterministic device takes one operation, if it runs. So does one with too little memory to
 * compare, because two need more. */
static bool choose(struct comparison *c, struct cuda_way *chosen, struct train_error *error)
{
	enum { KEY = 8 }; /* beside the directions of convolutions and the products */
	const struct op_info *info = &c->together->info;
	struct cuda_device *d = cuda_device_of(c->together);
	struct op_args args;
	void *between;
	struct cuda_ways ways = {
		.what = "the kernels",
		.list = {{.words = {TOGETHER}}, {.words = {APART}}},
		.count = 2,
		.known = {.words = {TOGETHER}},
		.why = TRAIN_TOLERATED,
		.key = {KEY, (uint64_t)info->input.type, d->exact, (uint64_t)info->input.batch,
			(uint64_t)info->input.height, (uint64_t)info->input.width,
			(uint64_t)info->input.channels, (uint64_t)info->biases},
		.run = run,
		.argument = c,
	};

	ways.operands = place_operands(c, 0, &args, &between);
	return cuda_choose(d, &ways, chosen, error);
}

/* mma.sync came with bfloat16. */
static bool is_possible(const struct device *device, const struct op_shape *shape,
			const struct op_shape *pool)
{
	const struct layout *in = &shape->input;

	return ((const struct cuda_device *)device)->has_bfloat16 && shape->kernel == 3 &&
	       shape->pad == 1 && shape->stride == 1 && shape->relu && shape->no_backward_data &&
	       !shape->no_bias && pool->kernel == 2 && pool->stride == 2 && pool->pad == 0 &&
	       convolution_pool_has((int32_t)in->height, (int32_t)in->width, (int32_t)in->channels,
				    shape->out, in->type);
}

bool cuda_convolution_pool(struct op **op, struct device *device,
			   const struct op_shape *convolution, const struct op_shape *pool,
			   struct train_error *error)
{
	struct comparison c = {.together = NULL};
	struct cuda_way way;
	bool done;

	if (!is_possible(device, convolution, pool)) {
		*op = NULL;
		return true;
	}
	done = plan(&c, device, convolution, pool, error) && choose(&c, &way, error);
	op_free(c.pool);
	op_free(c.convolution);
	if (done && way.words[0] == TOGETHER) {
		*op = c.together;
		return true;
	}
	op_free(c.together);
	if (done)
		*op = NULL;
	return done;
}
