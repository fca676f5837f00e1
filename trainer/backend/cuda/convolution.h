/* SPDX-License-Identifier: MIT */
/* A convolution by cuDNN: the operation (cuda/convolution.c), the choice of its algorithms
 * (cuda/convolution_choose.c), engines of cuDNN's graph API (cuda/convolution_engines.c), and a run
 * (cuda/convolution_run.c). */
#ifndef TRAIN_BACKEND_CUDA_CONVOLUTION_H
#define TRAIN_BACKEND_CUDA_CONVOLUTION_H

#include "backend/cuda/cuda.h"

enum cuda_direction { CUDA_FORWARD, CUDA_DATA, CUDA_WEIGHTS, CUDA_DIRECTIONS };

enum { CUDA_ALGORITHM_TEXT = 96, CUDA_ENGINES = 16, CUDA_GRAPH_PARTS = 16, CUDA_GRAPHS = 2 };

/* Addresses of one run: the input, filter and output, or their gradients. The direction writes one.
 */
struct cuda_operands {
	const void *input, *filter, *output;
	void *to, *workspace;
};

/* An engine of cuDNN's graph API with its knobs, as an execution plan. */
struct cuda_engine {
	cudnnBackendDescriptor_t config, plan;
	struct cuda_way way;           /* its number and its knobs */
	cudnnBackendDescriptor_t pack; /* of addresses, or NULL before the first run */
	struct cuda_operands operands; /* the pack's addresses */
};

/* The tensors of a graph. */
enum cuda_tensor { CUDA_X = 1, CUDA_W, CUDA_Y, CUDA_BIAS, CUDA_SUMS, CUDA_BIASED };

/* A direction as an operation graph, and the engines that compute it. */
struct cuda_graph {
	enum value_type filter_type;                      /* of the filter or its gradient */
	cudnnBackendDescriptor_t parts[CUDA_GRAPH_PARTS]; /* the last is the graph */
	int part_count;
	struct cuda_engine engines[CUDA_ENGINES]; /* in the order of cuDNN's heuristics */
	int count;
};

/* What computes a direction: an engine, or cuDNN's call for it with the number of an algorithm. */
struct cuda_algorithm {
	cudnnConvolutionDescriptor_t convolution; /* with its kind of arithmetic */
	int number;                               /* cuDNN's number of the algorithm */
	size_t workspace;
	struct cuda_graph *graphs[CUDA_GRAPHS]; /* or NULL */
	struct cuda_engine *engine;             /* of one of the graphs, or NULL */
};

struct cuda_convolution {
	struct cuda_op base;
	int out_padded, in_padded;
	cudnnTensorDescriptor_t input, output, bias_shape;
	cudnnFilterDescriptor_t filter_shape;
	cudnnActivationDescriptor_t activation;
	struct cuda_algorithm algorithms[CUDA_DIRECTIONS];
	char text[CUDA_ALGORITHM_TEXT]; /* info.algorithm */
	void *filter, *bias;            /* (out, kernel, kernel, in) and (out), padded */
	/* As filter, in the type that the algorithm writes; NULL: it writes to weight_gradient. */
	void *filter_gradient;
	enum value_type filter_gradient_type;
	float *bias_gradient; /* (out), padded */
};

/* Puts the run on the stream of the device, which must be the calling thread's current device. */
bool cuda_convolution_run(struct cuda_convolution *convolution, enum cuda_direction direction,
			  const struct cuda_operands *operands, struct train_error *error);

/* Chooses the algorithms of all directions that will be run, and the type of the filter's gradient.
 * Everything but the gradient's memory must be planned. */
bool cuda_convolution_choose(struct cuda_convolution *convolution, struct train_error *error);

/*
 * Finds the engines for a direction that compute the required values: in every run the same on a
 * deterministic device, and with plain float32 arithmetic where cuda_math() asks for it.
 * filter_type is the type of the filter, or of its gradient, which may be float32 for halves.
 * compiled: the first one that is compiled at run time, and no other. No engine is not an error.
 * False: the device failed. The caller frees *graph in both cases.
 */
bool cuda_graph_plan(struct cuda_convolution *convolution, enum cuda_direction direction,
		     enum value_type filter_type, bool compiled, struct cuda_graph **graph,
		     struct train_error *error);

/* Frees all engines but this one. */
void cuda_graph_keep(struct cuda_device *device, struct cuda_graph *graph,
		     const struct cuda_engine *engine);

/* NULL is allowed. */
void cuda_graph_free(struct cuda_device *device, struct cuda_graph *graph);

/* Whether a way is an engine, its number, and the type of its filter. */
bool cuda_way_is_engine(const struct cuda_way *way);
int cuda_way_number(const struct cuda_way *way);
enum value_type cuda_way_filter_type(const struct cuda_way *way);

/* Whether a status means that cuDNN does not support what was asked. Others are failures of the
 * device. */
bool cuda_cudnn_lacks(cudnnStatus_t status);

/* The arithmetic for the type of values and the device. */
cudnnMathType_t cuda_math(const struct cuda_convolution *convolution);

/* Bytes of the padded filter in this type. */
size_t cuda_filter_bytes(const struct cuda_convolution *convolution, enum value_type type);

#endif
