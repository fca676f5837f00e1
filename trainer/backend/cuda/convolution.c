/* SPDX-License-Identifier: MIT */
/* Convolutions by cuDNN, with the algorithms that cuda/convolution_choose.c chooses. Filter and
 * bias are copies of the masters, in the type and padding that cuDNN wants. */
#include "config.h"

#include "backend/cuda/convolution.h"

static struct cuda_convolution *own(struct op *op)
{
	return (struct cuda_convolution *)op;
}

static bool is_padded(const struct cuda_convolution *c)
{
	return c->out_padded != c->base.host.out || c->in_padded != c->base.host.in;
}

static int64_t filter_rows(const struct cuda_convolution *c)
{
	return (int64_t)c->base.host.out * c->base.host.height * c->base.host.width;
}

/* --- runs ------------------------------------------------------------------------------------ */

/* The number of rows of the filter. A row has the channels of one place. */
static struct reorder_args rows_of(const struct cuda_convolution *c)
{
	return (struct reorder_args){
		.batch = filter_rows(c),
		.channels = c->base.host.in,
		.height = 1,
		.width = 1,
		.padded = c->in_padded,
	};
}

static bool prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	struct reorder_args filter = rows_of(c);

	filter.from = args->weight;
	filter.from_type = VALUE_FLOAT32;
	filter.to = c->filter;
	filter.to_type = op->info.input.type;
	filter.to_nhwc = true;
	return cuda_use(d, error) && CUDA_KERNEL(d, reorder, &filter, error) &&
	       (op->shape.no_bias || cuda_cast(d, c->bias, filter.to_type, args->bias,
					       VALUE_FLOAT32, c->base.host.out, error));
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	const struct cuda_operands operands = {
		args->input, c->filter, NULL, args->output, d->workspace,
	};

	return cuda_use(d, error) && cuda_convolution_run(c, CUDA_FORWARD, &operands, error);
}

/* ReLU's derivative alone. */
static bool relu_backward(struct cuda_convolution *c, const struct op_args *args,
			  struct train_error *error)
{
	const struct layout *out = &c->base.base.info.output;
	const struct relu_backward_args relu = {
		.gradient = args->output_gradient,
		.output = args->output,
		.count = (int64_t)(out->bytes / value_bytes(out->type)),
		.type = out->type,
	};

	return CUDA_KERNEL(cuda_device_of(&c->base.base), relu_backward, &relu, error);
}

static bool bias_backward(struct cuda_convolution *c, const struct op_args *args,
			  struct train_error *error)
{
	struct op *op = &c->base.base;
	struct cuda_device *d = cuda_device_of(op);
	bool relu = op->shape.relu_backward;

	if (op->shape.no_bias)
		return !relu || relu_backward(c, args, error);
	if (op->shape.no_bias_gradient)
		return true;
	if (c->out_padded == c->base.host.out)
		return cuda_bias_gradient(op, args, relu, args->bias_gradient, error);
	return cuda_bias_gradient(op, args, relu, c->bias_gradient, error) &&
	       cuda_copy(&d->base, args->bias_gradient, &d->base, c->bias_gradient,
			 (size_t)c->base.host.out * sizeof(float), error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	struct reorder_args filter = rows_of(c);
	const struct cuda_operands operands = {
		args->input,
		NULL,
		args->output_gradient,
		c->filter_gradient ? c->filter_gradient : args->weight_gradient,
		d->workspace,
	};

	filter.from = c->filter_gradient;
	filter.from_type = c->filter_gradient_type;
	filter.to = args->weight_gradient;
	filter.to_type = VALUE_FLOAT32;
	return cuda_use(d, error) && bias_backward(c, args, error) &&
	       cuda_convolution_run(c, CUDA_WEIGHTS, &operands, error) &&
	       (!c->filter_gradient || op->shape.raw_gradient ||
		CUDA_KERNEL(d, reorder, &filter, error));
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	const struct cuda_operands operands = {
		NULL, c->filter, args->output_gradient, args->input_gradient, d->workspace,
	};

	return cuda_use(d, error) && cuda_convolution_run(c, CUDA_DATA, &operands, error);
}

static void convolution_free(struct op *op)
{
	struct cuda_convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);

	if (c->activation)
		CUDA_END(d, CUDNN, cudnnDestroyActivationDescriptor, (c->activation));
	for (int i = 0; i < CUDA_DIRECTIONS; i++) {
		for (int k = 0; k < CUDA_GRAPHS; k++)
			cuda_graph_free(d, c->algorithms[i].graphs[k]);
		if (c->algorithms[i].convolution)
			CUDA_END(d, CUDNN, cudnnDestroyConvolutionDescriptor,
				 (c->algorithms[i].convolution));
	}
	if (c->filter_shape)
		CUDA_END(d, CUDNN, cudnnDestroyFilterDescriptor, (c->filter_shape));
	if (c->bias_shape)
		CUDA_END(d, CUDNN, cudnnDestroyTensorDescriptor, (c->bias_shape));
	if (c->output)
		CUDA_END(d, CUDNN, cudnnDestroyTensorDescriptor, (c->output));
	if (c->input)
		CUDA_END(d, CUDNN, cudnnDestroyTensorDescriptor, (c->input));
	cuda_release(op->device, c->filter);
	cuda_release(op->device, c->bias);
	cuda_release(op->device, c->filter_gradient);
	cuda_release(op->device, c->bias_gradient);
}

/* --- planning -------------------------------------------------------------------------------- */

static bool describe_tensor(struct cuda_device *d, cudnnTensorDescriptor_t *tensor,
			    const struct layout *layout, struct train_error *error)
{
	return CUDA_DO(d, CUDNN, cudnnCreateTensorDescriptor, (tensor), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetTensor4dDescriptor,
		       (*tensor, CUDNN_TENSOR_NHWC, cuda_cudnn_type(layout->type),
			(int)layout->batch, cuda_channels(layout), (int)layout->height,
			(int)layout->width),
		       error);
}

/* Each direction has its own descriptor, because it may need another arithmetic. */
static bool describe_convolution(struct cuda_convolution *c, cudnnConvolutionDescriptor_t *ret,
				 struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct op_shape *s = &c->base.base.shape;

	return CUDA_DO(d, CUDNN, cudnnCreateConvolutionDescriptor, (ret), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetConvolution2dDescriptor,
		       (*ret, s->pad, s->pad, s->stride, s->stride, 1, 1, CUDNN_CROSS_CORRELATION,
			CUDNN_DATA_FLOAT),
		       error) &&
	       CUDA_DO(d, CUDNN, cudnnSetConvolutionMathType, (*ret, cuda_math(c)), error);
}

static bool describe(struct cuda_convolution *c, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct op_info *info = &c->base.base.info;
	cudnnDataType_t type = cuda_cudnn_type(info->input.type);
	bool relu = c->base.base.shape.relu;

	return describe_tensor(d, &c->input, &info->input, error) &&
	       describe_tensor(d, &c->output, &info->output, error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateTensorDescriptor, (&c->bias_shape), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetTensor4dDescriptor,
		       (c->bias_shape, CUDNN_TENSOR_NHWC, type, 1, c->out_padded, 1, 1), error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateFilterDescriptor, (&c->filter_shape), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetFilter4dDescriptor,
		       (c->filter_shape, type, CUDNN_TENSOR_NHWC, c->out_padded, c->in_padded,
			c->base.host.height, c->base.host.width),
		       error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateActivationDescriptor, (&c->activation), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetActivationDescriptor,
		       (c->activation, relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
			CUDNN_NOT_PROPAGATE_NAN, 0),
		       error) &&
	       describe_convolution(c, &c->algorithms[CUDA_FORWARD].convolution, error) &&
	       describe_convolution(c, &c->algorithms[CUDA_DATA].convolution, error) &&
	       describe_convolution(c, &c->algorithms[CUDA_WEIGHTS].convolution, error);
}

static bool want_scratch(struct cuda_convolution *c, struct train_error *error)
{
	const struct layout *out = &c->base.base.info.output;

	return cuda_want_scratch(cuda_device_of(&c->base.base),
				 bias_gradient_scratch(out->batch * out->height * out->width,
						       c->out_padded, out->type),
				 error);
}

/* Zero, so that the padding is zero. */
static bool allocate(struct cuda_convolution *c, struct train_error *error)
{
	struct op *op = &c->base.base;
	enum value_type type = op->info.input.type;
	size_t out = (size_t)c->out_padded;

	c->filter = cuda_allocate_zeros(op->device, cuda_filter_bytes(c, type), "filters", error);
	c->bias = c->filter ? cuda_allocate_zeros(op->device, out * value_bytes(type), "a bias",
						  error)
			    : NULL;
	c->bias_gradient = c->bias ? cuda_allocate_zeros(op->device, out * sizeof(float),
							 "the gradient of a bias", error)
				   : NULL;
	return c->bias_gradient;
}

/* Whether cuDNN can write the gradient as the caller wants it. Algorithms are tried with operands
 * that are aligned to 256. */
static bool writes_gradient(const struct cuda_convolution *c, const struct op_shape *shape)
{
	return c->filter_gradient_type == VALUE_FLOAT32 && !is_padded(c) &&
	       shape->weight_offset % 256 == 0;
}

static bool allocate_gradient(struct cuda_convolution *c, const struct op_shape *shape,
			      struct train_error *error)
{
	if (writes_gradient(c, shape))
		return true;
	c->filter_gradient = cuda_allocate_zeros(c->base.base.device,
						 cuda_filter_bytes(c, c->filter_gradient_type),
						 "gradients of filters", error);
	return c->filter_gradient;
}

/* Filter and bias that the optimizer writes, and the gradient that it reads. */
static void set_rows(struct cuda_convolution *c)
{
	const struct op_shape *shape = &c->base.base.shape;
	struct op_info *info = &c->base.base.info;
	enum value_type type = info->input.type;

	info->weight_copy = (struct value_rows){c->filter, type, c->base.host.in, c->in_padded};
	if (!shape->no_bias)
		info->bias_copy =
			(struct value_rows){c->bias, type, c->base.host.out, c->base.host.out};
	if (shape->raw_gradient)
		info->raw_gradient = (struct value_rows){
			c->filter_gradient, c->filter_gradient_type, c->base.host.in, c->in_padded};
}

static void set_info(struct cuda_convolution *c, const struct op_shape *shape)
{
	struct op_info *info = &c->base.base.info;
	const struct layout *in = &shape->input;

	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &c->base.input_order);
	info->output = cuda_nhwc(in, shape->out, op_output_size(in->height, shape),
				 op_output_size(in->width, shape), &c->base.output_order);
	c->base.host =
		(struct cuda_filter){shape->out, (int)in->channels, shape->kernel, shape->kernel};
	c->in_padded = c->base.input_order.padded;
	c->out_padded = c->base.output_order.padded;
	info->weights = filter_rows(c) * c->base.host.in;
	info->biases = shape->no_bias ? 0 : shape->out;
}

static bool plan(struct cuda_convolution *c, const struct op_shape *shape,
		 struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);

	set_info(c, shape);
	if (!cuda_use(d, error) || !cuda_want_cudnn(d, error) || !describe(c, error) ||
	    !want_scratch(c, error) || !allocate(c, error) || !cuda_convolution_choose(c, error) ||
	    !allocate_gradient(c, shape, error))
		return false;
	set_rows(c);
	return true;
}

bool cuda_convolution(struct op **op, struct device *device, const struct op_shape *shape,
		      struct train_error *error)
{
	static const struct op_calls calls = {
		.prepare = prepare,
		.forward = forward,
		.backward_weights = backward_weights,
		.backward_data = backward_data,
		.weight_write = cuda_weight_write,
		.weight_read = cuda_weight_read,
		.free = convolution_free,
	};
	struct cuda_convolution *c = op_new(sizeof(*c), device, &calls, shape);

	return op_give(op, &c->base.base, plan(c, shape, error));
}
