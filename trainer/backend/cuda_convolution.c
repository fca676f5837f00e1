/* SPDX-License-Identifier: MIT */
/*
 * Convolutions by cuDNN. Algorithms are those that its header names deterministic and that use
 * tensor cores: implicit precomputed products forward, algorithm 1 backward. Filter and bias are
 * copies of the masters, in the type and padding that cuDNN wants.
 */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda.h"

static const cudnnConvolutionFwdAlgo_t forward_algorithm =
	CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
static const cudnnConvolutionBwdDataAlgo_t data_algorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
static const cudnnConvolutionBwdFilterAlgo_t weights_algorithm =
	CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
static const float one = 1, zero = 0;

struct convolution {
	struct cuda_op base;
	bool relu_backward, no_bias_gradient;
	struct cuda_filter host; /* without padding */
	int out_padded, in_padded;
	cudnnTensorDescriptor_t input, output, bias_shape;
	cudnnFilterDescriptor_t filter_shape;
	cudnnConvolutionDescriptor_t convolution;
	cudnnActivationDescriptor_t activation;
	size_t forward_bytes, data_bytes, weights_bytes; /* of workspace */
	void *filter, *bias, *filter_gradient;           /* (out, kernel, kernel, in), padded */
	float *bias_gradient;                            /* (out), padded */
};

static struct convolution *own(struct op *op)
{
	return (struct convolution *)op;
}

static bool is_padded(const struct convolution *c)
{
	return c->out_padded != c->host.out || c->in_padded != c->host.in;
}

static int64_t filter_rows(const struct convolution *c)
{
	return (int64_t)c->host.out * c->host.height * c->host.width;
}

/* --- runs --------------------------------------------------------------------------------------
 */

/* Rows of the filter: channels of one place. */
static struct reorder_args rows_of(const struct convolution *c)
{
	return (struct reorder_args){
		.batch = filter_rows(c),
		.channels = c->host.in,
		.height = 1,
		.width = 1,
		.padded = c->in_padded,
	};
}

static bool prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	struct reorder_args filter = rows_of(c);

	filter.from = args->weight;
	filter.from_type = VALUE_FLOAT32;
	filter.to = c->filter;
	filter.to_type = op->info.input.type;
	filter.to_nhwc = true;
	return cuda_use(d, error) && CUDA_KERNEL(d, reorder, &filter, error) &&
	       cuda_cast(d, c->bias, filter.to_type, args->bias, VALUE_FLOAT32, c->host.out, error);
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);

	return cuda_use(d, error) &&
	       CUDA_DO(d, CUDNN, cudnnConvolutionBiasActivationForward,
		       (d->cudnn, &one, c->input, args->input, c->filter_shape, c->filter,
			c->convolution, forward_algorithm, d->workspace, c->forward_bytes, &zero,
			c->output, args->output, c->bias_shape, c->bias, c->activation, c->output,
			args->output),
		       error);
}

static bool bias_backward(struct convolution *c, const struct op_args *args,
			  struct train_error *error)
{
	struct op *op = &c->base.base;
	struct cuda_device *d = cuda_device_of(op);

	if (c->no_bias_gradient)
		return true;
	if (c->out_padded == c->host.out)
		return cuda_bias_gradient(op, args, c->relu_backward, args->bias_gradient, error);
	return cuda_bias_gradient(op, args, c->relu_backward, c->bias_gradient, error) &&
	       cuda_copy(&d->base, args->bias_gradient, &d->base, c->bias_gradient,
			 (size_t)c->host.out * sizeof(float), error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);
	struct reorder_args filter = rows_of(c);

	filter.from = c->filter_gradient;
	filter.from_type = op->info.input.type;
	filter.to = args->weight_gradient;
	filter.to_type = VALUE_FLOAT32;
	return cuda_use(d, error) && bias_backward(c, args, error) &&
	       CUDA_DO(d, CUDNN, cudnnConvolutionBackwardFilter,
		       (d->cudnn, &one, c->input, args->input, c->output, args->output_gradient,
			c->convolution, weights_algorithm, d->workspace, c->weights_bytes, &zero,
			c->filter_shape, c->filter_gradient),
		       error) &&
	       CUDA_KERNEL(d, reorder, &filter, error);
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);

	return cuda_use(d, error) &&
	       CUDA_DO(d, CUDNN, cudnnConvolutionBackwardData,
		       (d->cudnn, &one, c->filter_shape, c->filter, c->output,
			args->output_gradient, c->convolution, data_algorithm, d->workspace,
			c->data_bytes, &zero, c->input, args->input_gradient),
		       error);
}

static bool weight_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	return cuda_filter_write(cuda_device_of(op), &own(op)->host, to, host, error);
}

static bool weight_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	return cuda_filter_read(cuda_device_of(op), &own(op)->host, host, from, error);
}

static void convolution_free(struct op *op)
{
	struct convolution *c = own(op);
	struct cuda_device *d = cuda_device_of(op);

	if (c->activation)
		CUDA_END(d, CUDNN, cudnnDestroyActivationDescriptor, (c->activation));
	if (c->convolution)
		CUDA_END(d, CUDNN, cudnnDestroyConvolutionDescriptor, (c->convolution));
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
	free(c);
}

/* --- planning ----------------------------------------------------------------------------------
 */

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

/* Half types always go by tensor cores; float32 by TF32, as PyTorch's convolutions do, unless it is
 * to be exact. */
static cudnnMathType_t math_type(const struct cuda_device *d, enum value_type type)
{
	if (type != VALUE_FLOAT32)
		return CUDNN_TENSOR_OP_MATH;
	return d->exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

static bool describe(struct convolution *c, const struct op_shape *shape, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct op_info *info = &c->base.base.info;
	cudnnDataType_t type = cuda_cudnn_type(info->input.type);

	return describe_tensor(d, &c->input, &info->input, error) &&
	       describe_tensor(d, &c->output, &info->output, error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateTensorDescriptor, (&c->bias_shape), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetTensor4dDescriptor,
		       (c->bias_shape, CUDNN_TENSOR_NHWC, type, 1, c->out_padded, 1, 1), error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateFilterDescriptor, (&c->filter_shape), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetFilter4dDescriptor,
		       (c->filter_shape, type, CUDNN_TENSOR_NHWC, c->out_padded, c->in_padded,
			c->host.height, c->host.width),
		       error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateConvolutionDescriptor, (&c->convolution), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetConvolution2dDescriptor,
		       (c->convolution, shape->pad, shape->pad, shape->stride, shape->stride, 1, 1,
			CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
		       error) &&
	       CUDA_DO(d, CUDNN, cudnnSetConvolutionMathType,
		       (c->convolution, math_type(d, info->input.type)), error) &&
	       CUDA_DO(d, CUDNN, cudnnCreateActivationDescriptor, (&c->activation), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetActivationDescriptor,
		       (c->activation,
			shape->relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
			CUDNN_PROPAGATE_NAN, 0),
		       error);
}

static bool find_workspace(struct convolution *c, const struct op_shape *shape,
			   struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct layout *out = &c->base.base.info.output;
	size_t most;

	if (!CUDA_DO(d, CUDNN, cudnnGetConvolutionForwardWorkspaceSize,
		     (d->cudnn, c->input, c->filter_shape, c->convolution, c->output,
		      forward_algorithm, &c->forward_bytes),
		     error) ||
	    !CUDA_DO(d, CUDNN, cudnnGetConvolutionBackwardFilterWorkspaceSize,
		     (d->cudnn, c->input, c->output, c->convolution, c->filter_shape,
		      weights_algorithm, &c->weights_bytes),
		     error))
		return false;
	if (!shape->no_backward_data &&
	    !CUDA_DO(d, CUDNN, cudnnGetConvolutionBackwardDataWorkspaceSize,
		     (d->cudnn, c->filter_shape, c->output, c->convolution, c->input,
		      data_algorithm, &c->data_bytes),
		     error))
		return false;
	most = c->forward_bytes > c->weights_bytes ? c->forward_bytes : c->weights_bytes;
	most = most > c->data_bytes ? most : c->data_bytes;
	return cuda_want_workspace(d, most, error) &&
	       cuda_want_scratch(d,
				 bias_gradient_scratch(out->batch * out->height * out->width,
						       c->out_padded, out->type),
				 error);
}

/* Zero, so that padding is. */
static void *zeroed(struct device *device, size_t bytes, const char *what,
		    struct train_error *error)
{
	void *memory = cuda_allocate(device, bytes, what, error);

	if (memory && !cuda_zero(device, memory, bytes, error)) {
		cuda_release(device, memory);
		return NULL;
	}
	return memory;
}

static bool allocate(struct convolution *c, struct train_error *error)
{
	struct op *op = &c->base.base;
	size_t each = value_bytes(op->info.input.type);
	size_t filter = (size_t)c->out_padded * (size_t)c->host.height * (size_t)c->host.width *
			(size_t)c->in_padded * each;

	c->filter = zeroed(op->device, filter, "filters", error);
	c->filter_gradient =
		c->filter ? zeroed(op->device, filter, "gradients of filters", error) : NULL;
	c->bias = c->filter_gradient
			  ? zeroed(op->device, (size_t)c->out_padded * each, "a bias", error)
			  : NULL;
	c->bias_gradient = c->bias ? zeroed(op->device, (size_t)c->out_padded * sizeof(float),
					    "the gradient of a bias", error)
				   : NULL;
	return c->bias_gradient;
}

static void set_info(struct convolution *c, const struct op_shape *shape)
{
	struct op_info *info = &c->base.base.info;
	const struct layout *in = &shape->input;

	info->input = cuda_nhwc(in, in->channels, in->height, in->width, &c->base.input_order);
	info->output = cuda_nhwc(in, shape->out, op_output_size(in->height, shape),
				 op_output_size(in->width, shape), &c->base.output_order);
	c->host = (struct cuda_filter){shape->out, (int)in->channels, shape->kernel, shape->kernel};
	c->in_padded = c->base.input_order.padded;
	c->out_padded = c->base.output_order.padded;
	c->relu_backward = shape->relu_backward;
	c->no_bias_gradient = shape->no_bias_gradient;
	info->weights = filter_rows(c) * c->host.in;
	info->biases = shape->out;
	info->algorithm = "cuDNN, implicit products";
}

bool cuda_convolution(struct op **op, struct device *device, const struct op_shape *shape,
		      struct train_error *error)
{
	static const struct op_calls calls = {
		.prepare = prepare,
		.forward = forward,
		.backward_weights = backward_weights,
		.backward_data = backward_data,
		.weight_write = weight_write,
		.weight_read = weight_read,
		.free = convolution_free,
	};
	struct convolution *c = calloc(1, sizeof(*c));

	if (!c)
		return train_nomem(error, "a convolution");
	c->base.base.calls = &calls;
	c->base.base.device = device;
	set_info(c, shape);
	if (!cuda_use((struct cuda_device *)device, error) || !describe(c, shape, error) ||
	    !find_workspace(c, shape, error) || !allocate(c, error)) {
		convolution_free(&c->base.base);
		return false;
	}
	if (!is_padded(c)) {
		c->base.base.info.weight_copy = c->filter;
		c->base.base.info.bias_copy = c->bias;
		c->base.base.info.copy_type = shape->input.type;
	}
	*op = &c->base.base;
	return true;
}
