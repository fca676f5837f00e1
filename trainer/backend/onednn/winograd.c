/* SPDX-License-Identifier: MIT */
/* A convolution by the trainer's own Winograd algorithm, between operations of oneDNN. */
#include "backend/cpu/winograd.h"
#include "backend/onednn/onednn.h"
#include "base/simd.h"

/* Few channels take longer. */
enum { LEAST_CHANNELS = 32 };

bool onednn_wants_winograd(const struct device *device, const struct op_shape *shape,
			   enum value_type type)
{
	return !((const struct onednn_device *)device)->exact && shape->input.type == type &&
	       shape->kernel == 3 && shape->stride == 1 &&
	       shape->input.channels >= LEAST_CHANNELS && shape->out >= LEAST_CHANNELS;
}

#ifdef SIMD_X86
enum { KERNEL = 3, CHANNELS = 16 };

struct winograd_op {
	struct op base;
	struct cpu_winograd forward, data;
	float *forward_weights, *data_weights; /* transformed; the latter NULL where not wanted */
	onednn_layout *input, *output;
};

static bool winograd_prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct winograd_op *own = (struct winograd_op *)op;

	cpu_winograd_weights(&own->forward, cpu_team_of(op->device), args->weight, false,
			     own->forward_weights);
	if (own->data_weights)
		cpu_winograd_weights(&own->data, cpu_team_of(op->device), args->weight, true,
				     own->data_weights);
	return true;
}

static bool winograd_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct winograd_op *own = (struct winograd_op *)op;
	const struct cpu_winograd_run run = {args->input, own->forward_weights, args->bias,
					     args->output, args->scratch};

	cpu_winograd_forward(&own->forward, cpu_team_of(op->device), &run);
	return true;
}

static bool winograd_backward_weights(struct op *op, const struct op_args *args,
				      struct train_error *error)
{
	struct winograd_op *own = (struct winograd_op *)op;
	const struct cpu_winograd_gradient run = {args->input, args->output_gradient,
						  args->weight_gradient, args->bias_gradient,
						  args->scratch};

	if (op->shape.relu_backward)
		onednn_relu_backward(op, args);
	cpu_winograd_backward_weights(&own->forward, cpu_team_of(op->device), &run);
	return true;
}

static bool winograd_backward_data(struct op *op, const struct op_args *args,
				   struct train_error *error)
{
	struct winograd_op *own = (struct winograd_op *)op;
	const struct cpu_winograd_run run = {args->output_gradient, own->data_weights, NULL,
					     args->input_gradient, args->scratch};

	cpu_winograd_forward(&own->data, cpu_team_of(op->device), &run);
	return true;
}

/* Maps PyTorch's index (out, in, 3, 3) to (in, 3, 3, out). */
static int64_t place_of(const struct cpu_winograd *w, int64_t index)
{
	int64_t each = KERNEL * KERNEL, inner = w->in * each;

	return index % inner * w->out + index / inner;
}

static bool winograd_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	const struct cpu_winograd *w = &((struct winograd_op *)op)->forward;

	for (int64_t i = 0; i < op->info.weights; i++)
		((float *)to)[place_of(w, i)] = ((const float *)host)[i];
	return true;
}

static bool winograd_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	const struct cpu_winograd *w = &((struct winograd_op *)op)->forward;

	for (int64_t i = 0; i < op->info.weights; i++)
		((float *)host)[i] = ((const float *)from)[place_of(w, i)];
	return true;
}

static void winograd_free(struct op *op)
{
	struct winograd_op *own = (struct winograd_op *)op;

	cpu_release(op->device, own->forward_weights);
	cpu_release(op->device, own->data_weights);
	onednn_layout_free(own->input);
	onednn_layout_free(own->output);
}

static void plan_layouts(struct winograd_op *own, const struct op_shape *shape)
{
	struct op_info *info = &own->base.info;
	const struct layout *in = &shape->input;

	info->output =
		layout_host(in->type, in->batch, shape->out, op_output_size(in->height, shape),
			    op_output_size(in->width, shape));
	own->input = onednn_layout_of(&info->input, dnnl_aBcd8b);
	own->output = onednn_layout_of(&info->output, dnnl_aBcd8b);
	onednn_layout_out(&info->input, own->input);
	onednn_layout_out(&info->output, own->output);
}

struct cpu_winograd onednn_winograd_of(const struct op *op)
{
	const struct layout *in = &op->info.input, *out = &op->info.output;

	return (struct cpu_winograd){
		.batch = in->batch,
		.in = in->channels,
		.out = out->channels,
		.height = in->height,
		.width = in->width,
		.out_height = out->height,
		.out_width = out->width,
		.pad = op->shape.pad,
		.relu = op->shape.relu,
	};
}

static void grow(size_t *max, size_t value)
{
	*max = value > *max ? value : *max;
}

static bool winograd_plan(struct winograd_op *own, const struct op_shape *shape,
			  struct train_error *error)
{
	struct device *device = own->base.device;
	struct op_info *info = &own->base.info;
	int threads = cpu_team_of(own->base.device)->threads;

	plan_layouts(own, shape);
	own->forward = onednn_winograd_of(&own->base);
	own->data = cpu_winograd_data(&own->forward);
	info->weights = own->forward.in * own->forward.out * KERNEL * KERNEL;
	info->biases = shape->no_bias ? 0 : own->forward.out;
	info->algorithm = "winograd:avx2";
	grow(&info->scratch, cpu_winograd_scratch(&own->forward, threads));
	grow(&info->scratch, cpu_winograd_scratch(&own->data, threads));
	grow(&info->scratch, cpu_winograd_gradient_scratch(&own->forward));
	own->forward_weights = cpu_allocate(device, cpu_winograd_transformed(&own->forward),
					    "weights as computed with", error);
	if (shape->no_backward_data || !own->forward_weights)
		return own->forward_weights != NULL;
	own->data_weights = cpu_allocate(device, cpu_winograd_transformed(&own->data),
					 "weights as computed with", error);
	return own->data_weights != NULL;
}

bool onednn_winograd_fits(const struct op_shape *shape)
{
	return shape->input.channels % CHANNELS == 0 && shape->out % CHANNELS == 0 &&
	       shape->pad < KERNEL && cpu_winograd_here();
}

bool onednn_winograd(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error)
{
	static const struct op_calls calls = {.prepare = winograd_prepare,
					      .forward = winograd_forward,
					      .backward_weights = winograd_backward_weights,
					      .backward_data = winograd_backward_data,
					      .weight_write = winograd_write,
					      .weight_read = winograd_read,
					      .free = winograd_free};
	struct winograd_op *own = op_new(sizeof(*own), device, &calls, shape);

	return op_give(op, &own->base, winograd_plan(own, shape, error));
}
#else
bool onednn_winograd_fits(const struct op_shape *shape)
{
	return false;
}

bool onednn_winograd(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error)
{
	return train_fail(error, TRAIN_FAILED, "device %d: no Winograd's algorithm here",
			  device->physical);
}
#endif
