/* SPDX-License-Identifier: MIT */
/* cuDNN's objects as the pretended one has them, and what is checked of a convolution. */
#ifndef TEST_FAKE_CUDNN_H
#define TEST_FAKE_CUDNN_H

#include "fake_cuda_private.h"

struct cudnnContext {
	struct object object;
	cudaStream_t stream;
};

/* Dimensions in the order of their names, whatever their order in memory. */
struct shape {
	bool set;
	cudnnDataType_t type;
	cudnnTensorFormat_t format;
	int n, c, h, w;
};

struct cudnnTensorStruct {
	struct object object;
	struct shape shape;
};

struct cudnnFilterStruct {
	struct object object;
	struct shape shape; /* n: outputs */
};

struct cudnnConvolutionStruct {
	struct object object;
	bool set;
	int pad_h, pad_w, stride_h, stride_w;
	cudnnDataType_t compute_type;
	cudnnMathType_t math;
};

struct cudnnActivationStruct {
	struct object object;
	bool set;
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;
};

/* A convolution x * w = y, or its gradients, whose descriptors go together. */
struct convolution {
	struct shape x, w, y;
	int pad_h, pad_w, stride_h, stride_w;
	cudnnMathType_t math;
};

enum direction { FORWARD, BACKWARD_DATA, BACKWARD_FILTER, DIRECTIONS };

size_t shape_bytes(const struct shape *shape);

/* Whether y is what x and w make. */
bool sizes_agree(const struct convolution *convolution);

/* The status that cuDNN would return for these descriptors. */
cudnnStatus_t convolution_of(struct convolution *convolution, cudnnHandle_t handle,
			     cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
			     cudnnConvolutionDescriptor_t descriptor, cudnnTensorDescriptor_t y,
			     const char *call);

/* The algorithms of a direction that can compute it, in the order of cuDNN's heuristics; at most
 * MAX_ALGORITHMS. A number may come twice, with two kinds of arithmetic. */
struct algorithm {
	int number;
	bool deterministic;
	bool allocates; /* memory when it runs, which cannot be recorded */
	float ms;       /* what a run takes, beside the time of pretending it */
	size_t workspace;
	cudnnMathType_t math;
	size_t fused_workspace; /* that the fused call needs beside it, which no call reports */
};

enum { MAX_ALGORITHMS = 10 };

int algorithms_of(const struct convolution *convolution, enum direction direction,
		  struct algorithm *algorithms);
/* With the convolution's arithmetic; CUDNN_STATUS_NOT_SUPPORTED if there is none of that number. */
cudnnStatus_t algorithm_find(const struct convolution *convolution, enum direction direction,
			     int number, struct algorithm *algorithm);

/* A run, as work. The direction decides which of x, w and y is written. */
struct convolution_run {
	struct convolution convolution;
	enum direction direction;
	const void *x, *w, *y;
	const void *z, *bias; /* NULL: neither */
	void *workspace;
	size_t workspace_bytes;
	float ms;
	float alpha, beta;    /* beta: of what is written, or of z */
	bool relu, backwards; /* backwards: sums in another order */
};

extern const struct work_kind convolution_kind;

#endif
