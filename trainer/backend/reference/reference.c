/* SPDX-License-Identifier: MIT */
/*
 * Convolution, linear and conversion by their definitions: one loop per index, sums in double,
 * everything in host order. Linear is a convolution whose kernel is as large as its input.
 */
#include <stdlib.h>

#include "backend/reference/reference.h"

/* The indices of an output (n, o, y, x), or of a kernel's value (c, dy, dx). */
struct at {
	int64_t n, o, y, x, c, i, j;
};

struct sum_op {
	struct op base;
	int64_t kernel_h, kernel_w, pad, stride;
};

/* The index of an output's input; -1 in the padding. */
static int64_t input_index(const struct sum_op *r, const struct at *at)
{
	const struct layout *in = &r->base.info.input;
	int64_t y = at->y * r->stride + at->i - r->pad, x = at->x * r->stride + at->j - r->pad;

	if (y < 0 || x < 0 || y >= in->height || x >= in->width)
		return -1;
	return ((at->n * in->channels + at->c) * in->height + y) * in->width + x;
}

static int64_t weight_index(const struct sum_op *r, const struct at *at)
{
	return ((at->o * r->base.info.input.channels + at->c) * r->kernel_h + at->i) * r->kernel_w +
	       at->j;
}

static int64_t output_index(const struct sum_op *r, const struct at *at)
{
	const struct layout *out = &r->base.info.output;

	return ((at->n * out->channels + at->o) * out->height + at->y) * out->width + at->x;
}

/* for each index of a kernel */
#define EACH_KERNEL(r, at) \
	for ((at).c = 0; (at).c < (r)->base.info.input.channels; (at).c++) \
		for ((at).i = 0; (at).i < (r)->kernel_h; (at).i++) \
			for ((at).j = 0; (at).j < (r)->kernel_w; (at).j++)

/* for each place of one channel of one sample's output */
#define EACH_PLACE(r, at) \
	for ((at).y = 0; (at).y < (r)->base.info.output.height; (at).y++) \
		for ((at).x = 0; (at).x < (r)->base.info.output.width; (at).x++)

/* for each channel of each sample's output */
#define EACH_CHANNEL(r, at) \
	for ((at).n = 0; (at).n < (r)->base.info.output.batch; (at).n++) \
		for ((at).o = 0; (at).o < (r)->base.info.output.channels; (at).o++)

static double output_value(const struct sum_op *r, const struct op_args *args, struct at *at)
{
	enum value_type type = r->base.info.input.type, parameters = value_of_parameters(type);
	double sum = r->base.info.biases ? value_get(parameters, args->bias, at->o) : 0.0;

	EACH_KERNEL (r, *at) {
		int64_t from = input_index(r, at);

		if (from >= 0)
			sum += value_get(type, args->input, from) *
			       value_get(parameters, args->weight, weight_index(r, at));
	}
	return r->base.shape.relu && sum < 0.0 ? 0.0 : sum;
}

static bool sum_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *r = (struct sum_op *)op;
	struct at at = {0};

	EACH_CHANNEL (r, at)
		EACH_PLACE (r, at)
			value_set(op->info.output.type, args->output, output_index(r, &at),
				  output_value(r, args, &at));
	return true;
}

/* The gradient of one weight: `at` has o, c, i, j. */
static double weight_gradient(const struct sum_op *r, const struct op_args *args, struct at *at)
{
	enum value_type type = r->base.info.input.type;
	double sum = 0.0;

	for (at->n = 0; at->n < r->base.info.output.batch; at->n++)
		EACH_PLACE (r, *at) {
			int64_t from = input_index(r, at);

			if (from >= 0)
				sum += value_get(type, args->input, from) *
				       value_get(type, args->output_gradient, output_index(r, at));
		}
	return sum;
}

static bool sum_backward_weights(struct op *op, const struct op_args *args,
				 struct train_error *error)
{
	struct sum_op *r = (struct sum_op *)op;
	enum value_type type = op->info.output.type, parameters = value_of_parameters(type);
	struct at at = {0};

	reference_op_relu_backward(op, args);
	for (at.o = 0; at.o < op->info.output.channels; at.o++) {
		double sum = 0.0;

		EACH_KERNEL (r, at)
			value_set(parameters, args->weight_gradient, weight_index(r, &at),
				  weight_gradient(r, args, &at));
		if (op->info.biases == 0)
			continue;
		for (at.n = 0; at.n < op->info.output.batch; at.n++)
			EACH_PLACE (r, at)
				sum += value_get(type, args->output_gradient, output_index(r, &at));
		value_set(parameters, args->bias_gradient, at.o, sum);
	}
	return true;
}

/* Sums into doubles in scratch, because several outputs share one input. */
static bool sum_backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *r = (struct sum_op *)op;
	enum value_type type = op->info.output.type, parameters = value_of_parameters(type);
	int64_t count = layout_values(&op->info.input);
	double *sums = args->scratch;
	struct at at = {0};

	for (int64_t i = 0; i < count; i++)
		sums[i] = 0.0;
	EACH_CHANNEL (r, at)
		EACH_PLACE (r, at) {
			double gradient =
				value_get(type, args->output_gradient, output_index(r, &at));

			EACH_KERNEL (r, at) {
				int64_t to = input_index(r, &at);

				if (to >= 0)
					sums[to] += gradient * value_get(parameters, args->weight,
									 weight_index(r, &at));
			}
		}
	for (int64_t i = 0; i < count; i++)
		value_set(type, args->input_gradient, i, sums[i]);
	return true;
}

static bool convert_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	for (int64_t i = 0; i < layout_values(&op->info.input); i++)
		value_set(op->info.output.type, args->output, i,
			  value_get(op->info.input.type, args->input, i));
	return true;
}

static bool convert_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	for (int64_t i = 0; i < layout_values(&op->info.input); i++)
		value_set(op->info.input.type, args->input_gradient, i,
			  value_get(op->info.output.type, args->output_gradient, i));
	return true;
}

static const struct op_calls sum_calls = {.forward = sum_forward,
					  .backward_weights = sum_backward_weights,
					  .backward_data = sum_backward_data};

static bool sum_plan(struct op **op, struct device *device, const struct op_shape *shape,
		     bool linear, struct train_error *error)
{
	const struct layout *in = &shape->input;
	struct sum_op *r = op_new(sizeof(*r), device, &sum_calls, shape);
	struct op_info *info = &r->base.info;

	r->kernel_h = linear ? in->height : shape->kernel;
	r->kernel_w = linear ? in->width : shape->kernel;
	r->pad = linear ? 0 : shape->pad;
	r->stride = linear ? 1 : shape->stride;
	info->algorithm = "loops";
	info->output = layout_host(in->type, in->batch, shape->out,
				   linear ? 1 : op_output_size(in->height, shape),
				   linear ? 1 : op_output_size(in->width, shape));
	info->weights = shape->out * in->channels * r->kernel_h * r->kernel_w;
	info->biases = shape->no_bias ? 0 : shape->out;
	info->scratch = (size_t)layout_values(in) * sizeof(double);
	*op = &r->base;
	return true;
}

static bool reference_convolution(struct op **op, struct device *device,
				  const struct op_shape *shape, struct train_error *error)
{
	return sum_plan(op, device, shape, false, error);
}

static bool reference_linear(struct op **op, struct device *device, const struct op_shape *shape,
			     struct train_error *error)
{
	return sum_plan(op, device, shape, true, error);
}

static bool reference_convert(struct op **op, struct device *device, const struct layout *from,
			      const struct layout *to, struct train_error *error)
{
	static const struct op_calls calls = {.forward = convert_forward,
					      .backward_data = convert_backward};
	const struct op_shape shape = {.input = *from};

	reference_new(op, device, &calls, &shape)->info.output = *to;
	return true;
}

/* --- addition -------------------------------------------------------------------------------- */

static bool addition_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	enum value_type type = op->info.output.type;

	for (int64_t i = 0; i < layout_values(&op->info.output); i++) {
		double sum = value_get(type, args->input, i) + value_get(type, args->addend, i);

		value_set(type, args->output, i, op->shape.relu && sum < 0.0 ? 0.0 : sum);
	}
	return true;
}

static bool addition_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	reference_op_relu_backward(op, args);
	return true;
}

static bool reference_addition(struct op **op, struct device *device, const struct op_shape *shape,
			       struct train_error *error)
{
	static const struct op_calls plain = {.forward = addition_forward};
	static const struct op_calls relu = {.forward = addition_forward,
					     .backward_data = addition_backward};

	reference_new(op, device, shape->relu_backward ? &relu : &plain, shape);
	return true;
}

/* --- devices --------------------------------------------------------------------------------- */

static bool reference_same_layout(const struct layout *a, const struct layout *b)
{
	return a->type == b->type;
}

static bool reference_open(struct device **device, const struct device_options *options,
			   struct train_error *error)
{
	struct cpu_device *made = cpu_device_new(sizeof(*made), &backend_reference, options, error);

	if (!made)
		return false;
	/* Without OpenMP one thread does all the work, with the same results. */
	cpu_team_open(&made->team, options->threads);
	*device = &made->base;
	return true;
}

static bool reference_has_type(struct device *device, enum value_type type)
{
	return true;
}

static void reference_close(struct device *device)
{
	free(device);
}

const struct backend backend_reference = {
	.name = "reference",
	.open = reference_open,
	.close = reference_close,
	.has_type = reference_has_type,
	CPU_DEVICE_CALLS,
	.convolution = reference_convolution,
	.max_pool = reference_op_max_pool,
	.mean_pool = reference_op_mean_pool,
	.batch_norm = reference_op_batch_norm,
	.linear = reference_linear,
	.addition = reference_addition,
	.convert = reference_convert,
	.same_layout = reference_same_layout,
};
