/* SPDX-License-Identifier: MIT */
/* A run of a convolution by cuDNN: its arithmetic, its filter, and the call. */
#include "config.h"

#include "backend/cuda_convolution.h"

static const float one = 1, zero = 0;

size_t cuda_filter_bytes(const struct cuda_convolution *c)
{
	return (size_t)c->out_padded * (size_t)c->host.height * (size_t)c->host.width *
	       (size_t)c->in_padded * value_bytes(c->base.base.info.input.type);
}

/* Half types always use tensor cores. float32 uses TF32, as PyTorch's convolutions do, unless it is
 * to be exact. */
cudnnMathType_t cuda_math(const struct cuda_convolution *c)
{
	if (c->base.base.info.input.type != VALUE_FLOAT32)
		return CUDNN_TENSOR_OP_MATH;
	return cuda_device_of(&c->base.base)->exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

bool cuda_convolution_run(struct cuda_convolution *c, enum cuda_direction direction,
			  const struct cuda_operands *o, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct cuda_algorithm *a = &c->algorithms[direction];

	if (direction == CUDA_FORWARD)
		return CUDA_DO(d, CUDNN, cudnnConvolutionBiasActivationForward,
			       (d->cudnn, &one, c->input, o->input, c->filter_shape, o->filter,
				a->convolution, (cudnnConvolutionFwdAlgo_t)a->number, o->workspace,
				a->workspace, &zero, c->output, o->to, c->bias_shape, c->bias,
				c->activation, c->output, o->to),
			       error);
	if (direction == CUDA_DATA)
		return CUDA_DO(d, CUDNN, cudnnConvolutionBackwardData,
			       (d->cudnn, &one, c->filter_shape, o->filter, c->output, o->output,
				a->convolution, (cudnnConvolutionBwdDataAlgo_t)a->number,
				o->workspace, a->workspace, &zero, c->input, o->to),
			       error);
	return CUDA_DO(d, CUDNN, cudnnConvolutionBackwardFilter,
		       (d->cudnn, &one, c->input, o->input, c->output, o->output, a->convolution,
			(cudnnConvolutionBwdFilterAlgo_t)a->number, o->workspace, a->workspace,
			&zero, c->filter_shape, o->to),
		       error);
}
