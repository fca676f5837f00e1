/* SPDX-License-Identifier: MIT */
/* A convolution by cuDNN: the operation (cuda_convolution.c), the choice of its algorithms
 * (cuda_convolution_choose.c), and a run, which both make (cuda_convolution_run.c). */
#ifndef TRAIN_BACKEND_CUDA_CONVOLUTION_H
#define TRAIN_BACKEND_CUDA_CONVOLUTION_H

#include "backend/cuda.h"

enum cuda_direction { CUDA_FORWARD, CUDA_DATA, CUDA_WEIGHTS, CUDA_DIRECTIONS };

enum { CUDA_ALGORITHM_TEXT = 96 };

struct cuda_algorithm {
	cudnnConvolutionDescriptor_t convolution; /* with its kind of arithmetic */
	int number;                               /* cuDNN's number of the algorithm */
	size_t workspace;
};

struct cuda_convolution {
	struct cuda_op base;
	bool relu, relu_backward, no_bias_gradient, no_backward_data, raw_gradient;
	int pad, stride;
	struct cuda_filter host; /* without padding */
	int out_padded, in_padded;
	cudnnTensorDescriptor_t input, output, bias_shape;
	cudnnFilterDescriptor_t filter_shape;
	cudnnActivationDescriptor_t activation;
	struct cuda_algorithm algorithms[CUDA_DIRECTIONS];
	char text[CUDA_ALGORITHM_TEXT]; /* info.algorithm */
	void *filter, *bias;            /* (out, kernel, kernel, in) and (out), padded */
	void *filter_gradient;          /* as filter; NULL: cuDNN writes to weight_gradient */
	float *bias_gradient;           /* (out), padded */
};

/* Addresses of one run: the input, filter and output, or their gradients. The direction writes one.
 */
struct cuda_operands {
	const void *input, *filter, *output;
	void *to, *workspace;
};

/* Puts the run on the stream of the device, which must be the calling thread's current device. */
bool cuda_convolution_run(struct cuda_convolution *convolution, enum cuda_direction direction,
			  const struct cuda_operands *operands, struct train_error *error);

/* Chooses the algorithms of all directions that will be run. Everything else must be planned. */
bool cuda_convolution_choose(struct cuda_convolution *convolution, struct train_error *error);

/* The arithmetic for the type of values and the device. */
cudnnMathType_t cuda_math(const struct cuda_convolution *convolution);

/* Bytes of the padded filter. */
size_t cuda_filter_bytes(const struct cuda_convolution *convolution);

#endif
