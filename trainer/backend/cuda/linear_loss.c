/* SPDX-License-Identifier: MIT */
/* The last linear layer with its loss: one kernel, unless cuBLASLt's products and the kernels of
 * separate operations together are faster. */
#include "config.h"

#include "backend/cuda/cuda.h"

/* The kernel multiplies without tensor cores. With more products in each of its three sums it takes
 * longer (7 us on an H200) than the four or five launches that it saves. */
static const int64_t max_products = 1 << 26;

struct linear_loss {
	struct op base;
	bool relu; /* relu_backward of the layer before */
};

static struct linear_loss_args kernel_args(const struct op *op, const struct op_args *args)
{
	const struct op_info *info = &op->info;

	return (struct linear_loss_args){
		.input = args->input,
		.weight = args->weight,
		.bias = args->bias,
		.labels = args->labels,
		.control = args->control,
		.scaler = args->scaler,
		.result = args->result,
		.overwrite = args->overwrite,
		.gradient = args->output_gradient,
		.weight_gradient = args->weight_gradient,
		.bias_gradient = args->bias_gradient,
		.input_gradient = args->input_gradient,
		.input_sums = args->input_sums,
		.scratch = cuda_device_of(op)->scratch,
		.batch = info->input.batch,
		.features = info->weights / info->biases,
		.classes = (int32_t)info->biases,
		.relu = ((const struct linear_loss *)op)->relu,
		.type = info->input.type,
	};
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct linear_loss_args kernel = kernel_args(op, args);

	return cuda_use(d, error) && CUDA_KERNEL(d, linear_loss, &kernel, error);
}

/* --- the choice --------------------------------------------------------------------------------
 */

enum { KERNEL_WAY, SEPARATE_WAY, WAYS };

/* Both ways on the same operands. */
struct trial {
	struct op *together, *linear, *loss;
	const struct op_shape *shape;
	int32_t *labels; /* of class 0 */
};

/* The next address in a trial's memory, with the alignment that the operand will have. */
static void *place(unsigned char *memory, size_t *end, size_t offset, size_t bytes)
{
	enum { ALIGNMENT = 256 };
	size_t at = (*end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + offset % ALIGNMENT;

	*end = at + bytes;
	return memory ? memory + at : NULL;
}

/* The operands in `memory`; returns their bytes. */
static size_t place_operands(const struct trial *t, unsigned char *memory, struct op_args *args)
{
	const struct op_shape *shape = t->shape;
	const struct op_info *info = &t->together->info;
	bool copied = info->input.type != VALUE_FLOAT32;
	size_t weights = (size_t)info->weights * sizeof(float);
	size_t biases = (size_t)info->biases * sizeof(float), end = 0;

	*args = (struct op_args){.labels = t->labels};
	args->input = place(memory, &end, 0, info->input.bytes);
	args->weight = place(memory, &end, copied ? 0 : shape->weight_offset, weights);
	args->bias = place(memory, &end, 0, biases);
	args->output = args->output_gradient = place(memory, &end, 0, info->output.bytes);
	if (!shape->no_backward_data)
		args->input_gradient = place(memory, &end, 0, info->input.bytes);
	args->weight_gradient = place(memory, &end, shape->weight_offset, weights);
	args->bias_gradient = place(memory, &end, shape->bias_offset, biases);
	if (shape->relu_backward)
		args->input_sums = place(memory, &end, 0,
					 (size_t)(info->weights / info->biases) * sizeof(float));
	args->control = place(memory, &end, 0, sizeof(*args->control));
	args->result = place(memory, &end, 0, sizeof(*args->result));
	return end;
}

static bool run_separate(const struct trial *t, struct op_args *args, struct train_error *error)
{
	const struct op_info *info = &t->linear->info;
	struct cuda_device *d = cuda_device_of(t->linear);
	const struct op_args loss = {
		.input = args->output,
		.input_gradient = args->output_gradient,
		.labels = args->labels,
		.control = args->control,
		.result = args->result,
		.overwrite = args->overwrite,
	};
	const struct bias_gradient_args before = {
		.gradient = args->input_gradient,
		.output = args->input,
		.sums = args->input_sums,
		.scratch = d->scratch,
		.rows = info->input.batch,
		.columns = info->weights / info->biases,
		.type = info->input.type,
	};

	return t->linear->calls->forward(t->linear, args, error) &&
	       t->loss->calls->forward(t->loss, &loss, error) &&
	       t->linear->calls->backward_weights(t->linear, args, error) &&
	       (!args->input_gradient || t->linear->calls->backward_data(t->linear, args, error)) &&
	       (!args->input_sums || CUDA_KERNEL(d, bias_gradient, &before, error));
}

static bool run(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		struct train_error *error)
{
	const struct trial *t = argument;
	struct op_args args;

	(void)workspace;
	place_operands(t, operands, &args);
	if (way->words[0] == KERNEL_WAY)
		return t->together->calls->forward(t->together, &args, error);
	return run_separate(t, &args, error);
}

static bool clear(struct device *device, const struct value_rows *copy, int64_t values,
		  struct train_error *error)
{
	return !copy->memory ||
	       cuda_zero(device, copy->memory, (size_t)values * value_bytes(copy->type), error);
}

/* Sets the copies of parameters, which nothing has written yet, to zero. */
static bool clear_copies(struct op *linear, struct train_error *error)
{
	const struct op_info *info = &linear->info;

	return clear(linear->device, &info->weight_copy, info->weights, error) &&
	       clear(linear->device, &info->bias_copy, info->biases, error);
}

/* The separate operations, and what the trials need of the device. */
static bool plan_separate(struct trial *t, struct train_error *error)
{
	struct device *device = t->together->device;
	const struct op_info *info = &t->together->info;
	struct op_shape shape = *t->shape;
	size_t scratch = bias_gradient_scratch(info->input.batch, info->weights / info->biases,
					       info->input.type);

	shape.relu_backward = false;
	t->labels = cuda_allocate_zeros(device, (size_t)info->input.batch * sizeof(*t->labels),
					"trials", error);
	return t->labels && cuda_linear(&t->linear, device, &shape, error) &&
	       clear_copies(t->linear, error) &&
	       cuda_loss(&t->loss, device, &t->linear->info.output, error) &&
	       cuda_want_scratch((struct cuda_device *)device, scratch, error);
}

static struct cuda_ways list_ways(const struct trial *t)
{
	/* Follows the numbers of products, so that no two keys are equal. */
	enum { NUMBER = 32, ALIGNMENT = 64 };
	const struct cuda_device *d = cuda_device_of(t->together);
	const struct op_shape *shape = t->shape;
	const struct op_info *info = &t->together->info;
	struct op_args args;

	return (struct cuda_ways){
		.what = "the last layer",
		.list = {{.words = {KERNEL_WAY}}, {.words = {SEPARATE_WAY}}},
		.count = WAYS,
		.known = {.words = {KERNEL_WAY}},
		.why = TRAIN_TOLERATED,
		.key = {NUMBER, (uint64_t)info->input.type, d->exact, (uint64_t)info->input.batch,
			(uint64_t)info->weights, (uint64_t)info->biases, shape->relu_backward,
			shape->no_backward_data, shape->weight_offset % ALIGNMENT,
			shape->bias_offset % ALIGNMENT},
		.operands = place_operands(t, NULL, &args),
		.run = run,
	};
}

/* *kernel: the kernel is faster. A deterministic device does not measure. */
static bool choose(struct op *together, const struct op_shape *shape, bool *kernel,
		   struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(together);
	struct trial t = {.together = together, .shape = shape};
	struct cuda_ways ways = list_ways(&t);
	struct cuda_way way;
	bool done;

	*kernel = true;
	if (d->deterministic)
		return true;
	ways.argument = &t;
	done = plan_separate(&t, error) && cuda_choose(d, &ways, &way, error);
	*kernel = done && way.words[0] == KERNEL_WAY;
	op_free(t.linear);
	op_free(t.loss);
	cuda_release(&d->base, t.labels);
	return done;
}

/* --- planning ----------------------------------------------------------------------------------
 */

static bool may_be_faster(const struct op_shape *shape, int64_t features)
{
	return shape->out <= LINEAR_LOSS_MAX_CLASSES &&
	       shape->input.batch * features <= max_products / shape->out;
}

bool cuda_linear_loss(struct op **op, struct device *device, const struct op_shape *shape,
		      struct train_error *error)
{
	static const struct op_calls calls = {.forward = forward};
	const struct layout *in = &shape->input;
	int64_t features = in->channels * in->height * in->width;
	struct linear_loss *l;
	struct op *made;
	bool kernel;

	*op = NULL;
	if (!may_be_faster(shape, features))
		return true;
	if (!cuda_use((struct cuda_device *)device, error) ||
	    !cuda_want_scratch((struct cuda_device *)device,
			       linear_loss_scratch(in->batch, features, shape->out), error))
		return false;
	l = op_new(sizeof(*l), device, &calls, "the last layer", error);
	if (!l)
		return false;
	l->relu = shape->relu_backward;
	made = &l->base;
	made->info.input = layout_host(in->type, in->batch, in->channels, in->height, in->width);
	made->info.output = layout_host(in->type, in->batch, shape->out, 1, 1);
	made->info.weights = shape->out * features;
	made->info.biases = shape->out;
	made->info.algorithm = "kernel";
	if (!choose(made, shape, &kernel, error)) {
		op_free(made);
		return false;
	}
	if (kernel)
		*op = made;
	else
		op_free(made);
	return true;
}
