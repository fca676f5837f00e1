/* SPDX-License-Identifier: MIT */
/* cuDNN's convolutions: the choice of an algorithm, and the runs. */
#include "config.h"

#include <string.h>

#include "fake_cudnn.h"

enum { ALIGNED = 16 };

/* The arrays of results differ in the type of the algorithm only. Heuristics know no times, and
 * report what cannot be done too. */
#define FILL(found, wanted, count, algorithms) \
	do { \
		for (*(count) = 0; *(count) < (wanted) && *(count) < known; ++*(count)) { \
			memset(&(found)[*(count)], 0, sizeof((found)[0])); \
			(found)[*(count)].algo = (algorithms)[*(count)].number; \
			(found)[*(count)].time = -1; \
			(found)[*(count)].memory = (algorithms)[*(count)].workspace; \
			(found)[*(count)].determinism = (algorithms)[*(count)].deterministic \
								? CUDNN_DETERMINISTIC \
								: CUDNN_NON_DETERMINISTIC; \
			(found)[*(count)].mathType = (algorithms)[*(count)].math; \
		} \
		if (*(count) < (wanted)) { \
			memset(&(found)[*(count)], 0, sizeof((found)[0])); \
			(found)[*(count)].status = CUDNN_STATUS_NOT_SUPPORTED; \
			(found)[(*(count))++].time = -1; \
		} \
	} while (0)

#define SIZE(convolution, direction, algorithm, bytes) \
	do { \
		struct algorithm is; \
\
		if (status == CUDNN_STATUS_SUCCESS) \
			status = algorithm_find(&(convolution), direction, (int)(algorithm), &is); \
		if (status == CUDNN_STATUS_SUCCESS) \
			*(bytes) = is.workspace; \
	} while (0)

/* Checks and puts a run. */
static cudnnStatus_t put(cudnnHandle_t handle, struct convolution_run *run, int number,
			 const char *call)
{
	struct algorithm algorithm;
	cudnnStatus_t status;
	size_t needed;

	status = algorithm_find(&run->convolution, run->direction, number, &algorithm);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	needed = algorithm.workspace + (run->bias ? algorithm.fused_workspace : 0);
	if (run->workspace_bytes < needed || (needed && !run->workspace))
		return CUDNN_STATUS_BAD_PARAM;
	if ((uintptr_t)run->x % ALIGNED || (uintptr_t)run->w % ALIGNED ||
	    (uintptr_t)run->y % ALIGNED || (uintptr_t)run->workspace % ALIGNED)
		return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
					    "%s: %p, %p, %p or %p is not a multiple of %d", call,
					    run->x, run->w, run->y, run->workspace, ALIGNED);
	if (algorithm.math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION &&
	    run->convolution.x.type == CUDNN_DATA_FLOAT)
		fault(0, "%s: it may round floats to halves", call);
	run->workspace_bytes = needed;
	run->ms = algorithm.ms;
	/* If it is not deterministic, every other run sums backwards. */
	run->backwards = !algorithm.deterministic && fake.runs++ % 2;
	if (!handle->stream)
		return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM,
					    "%s: cudnnSetStream was not called", call);
	if (algorithm.allocates && handle->stream->graph) {
		capture_spoil(handle->stream->graph);
		return CUDNN_STATUS_EXECUTION_FAILED_CUDART;
	}
	return stream_put(handle->stream, work_new(&convolution_kind, call, run, sizeof(*run)),
			  true) == cudaSuccess
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

static float factor(const void *number)
{
	float x;

	memcpy(&x, number, sizeof(x));
	return x;
}

/* The parts of the three directions that differ in types only. */
#define GET(direction, x, w, y, name) \
	struct convolution v; \
	struct algorithm algorithms[MAX_ALGORITHMS]; \
	cudnnStatus_t status = convolution_of(&v, handle, x, w, convolution, y, name); \
	int known; \
\
	if (status != CUDNN_STATUS_SUCCESS) \
		return status; \
	if (wanted < 1 || !count || !found) \
		return CUDNN_STATUS_BAD_PARAM; \
	known = algorithms_of(&v, direction, algorithms); \
	FILL(found, wanted, count, algorithms); \
	return CUDNN_STATUS_SUCCESS

#define SIZED(direction, x, w, y, name) \
	struct convolution v; \
	cudnnStatus_t status = convolution_of(&v, handle, x, w, convolution, y, name); \
\
	SIZE(v, direction, algorithm, bytes); \
	return status

#define RUN(direction_, x_desc_, x_, w_desc_, w_, y_desc_, y_, name) \
	struct convolution_run run = {.direction = direction_, \
				      .x = x_, \
				      .w = w_, \
				      .y = y_, \
				      .workspace = workspace, \
				      .workspace_bytes = workspace_bytes, \
				      .alpha = factor(alpha), \
				      .beta = factor(beta)}; \
	cudnnStatus_t status = convolution_of(&run.convolution, handle, x_desc_, w_desc_, \
					      convolution, y_desc_, name); \
\
	return status == CUDNN_STATUS_SUCCESS ? put(handle, &run, (int)algorithm, name) : status

cudnnStatus_t fake_cudnnGetConvolutionForwardAlgorithm_v7(
	cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc, cudnnFilterDescriptor_t w_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y_desc, int wanted,
	int *count, cudnnConvolutionFwdAlgoPerf_t *found)
{
	GET(FORWARD, x_desc, w_desc, y_desc, "cudnnGetConvolutionForwardAlgorithm_v7");
}

cudnnStatus_t fake_cudnnGetConvolutionBackwardDataAlgorithm_v7(
	cudnnHandle_t handle, cudnnFilterDescriptor_t w_desc, cudnnTensorDescriptor_t dy_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx_desc, int wanted,
	int *count, cudnnConvolutionBwdDataAlgoPerf_t *found)
{
	GET(BACKWARD_DATA, dx_desc, w_desc, dy_desc, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
}

cudnnStatus_t fake_cudnnGetConvolutionBackwardFilterAlgorithm_v7(
	cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc, cudnnTensorDescriptor_t dy_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw_desc, int wanted,
	int *count, cudnnConvolutionBwdFilterAlgoPerf_t *found)
{
	GET(BACKWARD_FILTER, x_desc, dw_desc, dy_desc,
	    "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
}

cudnnStatus_t fake_cudnnGetConvolutionForwardWorkspaceSize(
	cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc, cudnnFilterDescriptor_t w_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y_desc,
	cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
	SIZED(FORWARD, x_desc, w_desc, y_desc, "cudnnGetConvolutionForwardWorkspaceSize");
}

cudnnStatus_t fake_cudnnGetConvolutionBackwardDataWorkspaceSize(
	cudnnHandle_t handle, cudnnFilterDescriptor_t w_desc, cudnnTensorDescriptor_t dy_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx_desc,
	cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes)
{
	SIZED(BACKWARD_DATA, dx_desc, w_desc, dy_desc,
	      "cudnnGetConvolutionBackwardDataWorkspaceSize");
}

cudnnStatus_t fake_cudnnGetConvolutionBackwardFilterWorkspaceSize(
	cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc, cudnnTensorDescriptor_t dy_desc,
	cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw_desc,
	cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
	SIZED(BACKWARD_FILTER, x_desc, dw_desc, dy_desc,
	      "cudnnGetConvolutionBackwardFilterWorkspaceSize");
}

cudnnStatus_t fake_cudnnConvolutionBackwardData(
	cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w_desc, const void *w,
	cudnnTensorDescriptor_t dy_desc, const void *dy, cudnnConvolutionDescriptor_t convolution,
	cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace, size_t workspace_bytes,
	const void *beta, cudnnTensorDescriptor_t dx_desc, void *dx)
{
	RUN(BACKWARD_DATA, dx_desc, dx, w_desc, w, dy_desc, dy, "cudnnConvolutionBackwardData");
}

cudnnStatus_t fake_cudnnConvolutionBackwardFilter(
	cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
	cudnnTensorDescriptor_t dy_desc, const void *dy, cudnnConvolutionDescriptor_t convolution,
	cudnnConvolutionBwdFilterAlgo_t algorithm, void *workspace, size_t workspace_bytes,
	const void *beta, cudnnFilterDescriptor_t dw_desc, void *dw)
{
	RUN(BACKWARD_FILTER, x_desc, x, dw_desc, dw, dy_desc, dy, "cudnnConvolutionBackwardFilter");
}

/* What the manual also requires of the fused call. */
static cudnnStatus_t fused_agree(const struct convolution_run *run, cudnnTensorDescriptor_t z_desc,
				 cudnnTensorDescriptor_t bias_desc,
				 cudnnActivationDescriptor_t activation, int number)
{
	const struct shape *y = &run->convolution.y, *bias, *z;

	bias_desc = object_get(OBJECT_TENSOR, bias_desc, "cudnnConvolutionBiasActivationForward");
	z_desc = object_get(OBJECT_TENSOR, z_desc, "cudnnConvolutionBiasActivationForward");
	activation =
		object_get(OBJECT_ACTIVATION, activation, "cudnnConvolutionBiasActivationForward");
	if (!bias_desc || !z_desc || !activation || !activation->set || !run->z || !run->bias)
		return CUDNN_STATUS_BAD_PARAM;
	bias = &bias_desc->shape;
	z = &z_desc->shape;
	if (bias->n != 1 || bias->c != y->c || bias->h != 1 || bias->w != 1 || z->n != y->n ||
	    z->c != y->c || z->h != y->h || z->w != y->w || z->type != y->type ||
	    z->format != y->format)
		return CUDNN_STATUS_BAD_PARAM;
	/* z may be y, and x neither of them. */
	if (run->x == run->y || run->x == run->z)
		return CUDNN_STATUS_BAD_PARAM;
	if (bias->type != y->type || activation->nan != CUDNN_NOT_PROPAGATE_NAN)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (activation->mode == CUDNN_ACTIVATION_IDENTITY)
		return number == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
			       ? CUDNN_STATUS_SUCCESS
			       : CUDNN_STATUS_NOT_SUPPORTED;
	return activation->mode == CUDNN_ACTIVATION_RELU ? CUDNN_STATUS_SUCCESS
							 : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t fake_cudnnConvolutionBiasActivationForward(
	cudnnHandle_t handle, const void *alpha1, cudnnTensorDescriptor_t x_desc, const void *x,
	cudnnFilterDescriptor_t w_desc, const void *w, cudnnConvolutionDescriptor_t convolution,
	cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t workspace_bytes,
	const void *alpha2, cudnnTensorDescriptor_t z_desc, const void *z,
	cudnnTensorDescriptor_t bias_desc, const void *bias, cudnnActivationDescriptor_t activation,
	cudnnTensorDescriptor_t y_desc, void *y)
{
	struct convolution_run run = {.direction = FORWARD,
				      .x = x,
				      .w = w,
				      .y = y,
				      .z = z,
				      .bias = bias,
				      .workspace = workspace,
				      .workspace_bytes = workspace_bytes,
				      .alpha = factor(alpha1),
				      .beta = factor(alpha2)};
	const char *call = "cudnnConvolutionBiasActivationForward";
	cudnnStatus_t status;

	status =
		convolution_of(&run.convolution, handle, x_desc, w_desc, convolution, y_desc, call);
	if (status == CUDNN_STATUS_SUCCESS)
		status = fused_agree(&run, z_desc, bias_desc, activation, (int)algorithm);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	run.relu = activation->mode == CUDNN_ACTIVATION_RELU;
	return put(handle, &run, (int)algorithm, call);
}
