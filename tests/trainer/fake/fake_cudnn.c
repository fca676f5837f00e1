/* SPDX-License-Identifier: MIT */
/* cuDNN's handle and descriptors, and which of them make a convolution. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "fake_cudnn.h"

size_t fake_cudnnGetVersion(void)
{
	return CUDNN_VERSION;
}

const char *fake_cudnnGetErrorString(cudnnStatus_t status)
{
	switch (status) {
	case CUDNN_STATUS_SUCCESS:
		return "CUDNN_STATUS_SUCCESS";
	case CUDNN_STATUS_NOT_INITIALIZED:
		return "CUDNN_STATUS_NOT_INITIALIZED";
	case CUDNN_STATUS_BAD_PARAM:
		return "CUDNN_STATUS_BAD_PARAM";
	case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
		return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
	case CUDNN_STATUS_NOT_SUPPORTED:
		return "CUDNN_STATUS_NOT_SUPPORTED";
	case CUDNN_STATUS_EXECUTION_FAILED:
		return "CUDNN_STATUS_EXECUTION_FAILED";
	default:
		return "CUDNN_STATUS_INTERNAL_ERROR";
	}
}

void fake_cudnnGetLastErrorString(char *text, size_t size)
{
	if (size > 0)
		text[0] = '\0';
}

cudnnStatus_t fake_cudnnCreate(cudnnHandle_t *handle)
{
	if (capture_refuses() != cudaSuccess || device_state(device_current()) != cudaSuccess)
		return CUDNN_STATUS_NOT_INITIALIZED;
	*handle = object_new(OBJECT_CUDNN, sizeof(**handle));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnDestroy(cudnnHandle_t handle)
{
	handle = object_get(OBJECT_CUDNN, handle, "cudnnDestroy");
	if (!handle || capture_refuses() != cudaSuccess)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(handle);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	handle = object_get(OBJECT_CUDNN, handle, "cudnnSetStream");
	stream = stream_get(stream, "cudnnSetStream");
	if (!handle || !stream)
		return CUDNN_STATUS_BAD_PARAM;
	if (handle->object.device != stream->object.device)
		return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
					    "cudnnSetStream: the handle is of device %d and the "
					    "stream of device %d",
					    handle->object.device, stream->object.device);
	handle->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
	*tensor = object_new(OBJECT_TENSOR, sizeof(**tensor));
	return CUDNN_STATUS_SUCCESS;
}

static bool good_shape(const struct shape *shape)
{
	return (shape->type == CUDNN_DATA_FLOAT || shape->type == CUDNN_DATA_HALF ||
		shape->type == CUDNN_DATA_BFLOAT16) &&
	       (shape->format == CUDNN_TENSOR_NHWC || shape->format == CUDNN_TENSOR_NCHW) &&
	       shape->n > 0 && shape->c > 0 && shape->h > 0 && shape->w > 0;
}

cudnnStatus_t fake_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
					      cudnnTensorFormat_t format, cudnnDataType_t type,
					      int n, int c, int h, int w)
{
	struct shape shape = {true, type, format, n, c, h, w};

	tensor = object_get(OBJECT_TENSOR, tensor, "cudnnSetTensor4dDescriptor");
	if (!tensor || !good_shape(&shape))
		return CUDNN_STATUS_BAD_PARAM;
	tensor->shape = shape;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
	tensor = object_get(OBJECT_TENSOR, tensor, "cudnnDestroyTensorDescriptor");
	if (!tensor)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(tensor);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
	*filter = object_new(OBJECT_FILTER, sizeof(**filter));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
					      cudnnTensorFormat_t format, int k, int c, int h,
					      int w)
{
	struct shape shape = {true, type, format, k, c, h, w};

	filter = object_get(OBJECT_FILTER, filter, "cudnnSetFilter4dDescriptor");
	if (!filter || !good_shape(&shape))
		return CUDNN_STATUS_BAD_PARAM;
	filter->shape = shape;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
	filter = object_get(OBJECT_FILTER, filter, "cudnnDestroyFilterDescriptor");
	if (!filter)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(filter);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convolution)
{
	*convolution = object_new(OBJECT_CONVOLUTION, sizeof(**convolution));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution,
						   int pad_h, int pad_w, int stride_h, int stride_w,
						   int dilation_h, int dilation_w,
						   cudnnConvolutionMode_t mode,
						   cudnnDataType_t compute_type)
{
	convolution =
		object_get(OBJECT_CONVOLUTION, convolution, "cudnnSetConvolution2dDescriptor");
	if (!convolution || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 ||
	    dilation_h < 1 || dilation_w < 1)
		return CUDNN_STATUS_BAD_PARAM;
	if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION)
		return (cudnnStatus_t)fault(CUDNN_STATUS_NOT_SUPPORTED,
					    "cudnnSetConvolution2dDescriptor: dilation %d, %d and "
					    "mode %d: PyTorch's is a cross-correlation",
					    dilation_h, dilation_w, (int)mode);
	convolution->set = true;
	convolution->pad_h = pad_h;
	convolution->pad_w = pad_w;
	convolution->stride_h = stride_h;
	convolution->stride_w = stride_w;
	convolution->compute_type = compute_type;
	convolution->math = CUDNN_DEFAULT_MATH;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
					       cudnnMathType_t type)
{
	convolution = object_get(OBJECT_CONVOLUTION, convolution, "cudnnSetConvolutionMathType");
	if (!convolution || (unsigned int)type > CUDNN_FMA_MATH)
		return CUDNN_STATUS_BAD_PARAM;
	if (!convolution->set)
		fault(0, "cudnnSetConvolutionMathType: the descriptor will be set after it, which "
			 "undoes it");
	convolution->math = type;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution)
{
	convolution =
		object_get(OBJECT_CONVOLUTION, convolution, "cudnnDestroyConvolutionDescriptor");
	if (!convolution)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(convolution);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activation)
{
	*activation = object_new(OBJECT_ACTIVATION, sizeof(**activation));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
						cudnnActivationMode_t mode,
						cudnnNanPropagation_t nan, double coefficient)
{
	activation = object_get(OBJECT_ACTIVATION, activation, "cudnnSetActivationDescriptor");
	if (!activation || (nan != CUDNN_PROPAGATE_NAN && nan != CUDNN_NOT_PROPAGATE_NAN))
		return CUDNN_STATUS_BAD_PARAM;
	activation->set = true;
	activation->mode = mode;
	activation->nan = nan;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation)
{
	activation = object_get(OBJECT_ACTIVATION, activation, "cudnnDestroyActivationDescriptor");
	if (!activation)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(activation);
	return CUDNN_STATUS_SUCCESS;
}

size_t shape_bytes(const struct shape *shape)
{
	size_t value = shape->type == CUDNN_DATA_FLOAT ? 4 : 2;

	return value * (size_t)shape->n * (size_t)shape->c * (size_t)shape->h * (size_t)shape->w;
}

bool sizes_agree(const struct convolution *v)
{
	return v->x.c == v->w.c && v->y.c == v->w.n && v->y.n == v->x.n &&
	       v->x.h + 2 * v->pad_h >= v->w.h && v->x.w + 2 * v->pad_w >= v->w.w &&
	       v->y.h == (v->x.h + 2 * v->pad_h - v->w.h) / v->stride_h + 1 &&
	       v->y.w == (v->x.w + 2 * v->pad_w - v->w.w) / v->stride_w + 1;
}

cudnnStatus_t convolution_of(struct convolution *v, cudnnHandle_t handle, cudnnTensorDescriptor_t x,
			     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t descriptor,
			     cudnnTensorDescriptor_t y, const char *call)
{
	handle = object_get(OBJECT_CUDNN, handle, call);
	x = object_get(OBJECT_TENSOR, x, call);
	w = object_get(OBJECT_FILTER, w, call);
	descriptor = object_get(OBJECT_CONVOLUTION, descriptor, call);
	y = object_get(OBJECT_TENSOR, y, call);
	if (!handle || !x || !w || !descriptor || !y || !x->shape.set || !w->shape.set ||
	    !descriptor->set || !y->shape.set)
		return CUDNN_STATUS_BAD_PARAM;
	if (handle->object.device != device_current())
		return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM,
					    "%s: the handle is of device %d, the thread's is %d",
					    call, handle->object.device, device_current());
	*v = (struct convolution){.x = x->shape,
				  .w = w->shape,
				  .y = y->shape,
				  .pad_h = descriptor->pad_h,
				  .pad_w = descriptor->pad_w,
				  .stride_h = descriptor->stride_h,
				  .stride_w = descriptor->stride_w,
				  .math = descriptor->math};
	if (!sizes_agree(v))
		return CUDNN_STATUS_BAD_PARAM;
	/* PSEUDO_HALF_CONFIG, PSEUDO_BFLOAT16_CONFIG and FLOAT_CONFIG of its manual. */
	if (v->x.type != v->w.type || v->x.type != v->y.type || v->x.format != v->w.format ||
	    v->x.format != v->y.format || descriptor->compute_type != CUDNN_DATA_FLOAT)
		return CUDNN_STATUS_NOT_SUPPORTED;
	return CUDNN_STATUS_SUCCESS;
}
