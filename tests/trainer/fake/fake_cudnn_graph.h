/* SPDX-License-Identifier: MIT */
/* The pretended graph API: descriptors with their attributes, and the engines that there are. */
#ifndef TEST_FAKE_CUDNN_GRAPH_H
#define TEST_FAKE_CUDNN_GRAPH_H

#include "fake_cudnn.h"

enum { ATTRIBUTE_BYTES = 64, ATTRIBUTES = 8 };

struct attribute {
	cudnnBackendAttributeName_t name;
	int64_t count;
	_Alignas(8) unsigned char values[ATTRIBUTE_BYTES];
};

/* A finalized graph: a convolution, with a bias and ReLU or without. */
struct graph {
	bool supported; /* false: no engine computes it */
	enum direction direction;
	bool has_bias, relu;
	struct convolution convolution;
	int64_t x, w, y, bias; /* unique ids */
	cudnnDataType_t bias_type;
	int64_t alignment; /* the least of its tensors' */
};

struct engine {
	int number, knob;
	int needs; /* of the graph: enum needs */
	bool fallback;
	unsigned int notes; /* a bit for each numerical note */
	bool compiled;      /* at run time */
	bool refuses;       /* to become a plan */
	bool fails;         /* to run */
	bool allocates;     /* memory when it runs, which cannot be recorded */
	float ms;
	size_t workspace;
};

/* What cudnnBackendDescriptor_t points to. */
struct backend {
	struct object object;
	cudnnBackendDescriptorType_t type;
	bool finalized;
	struct attribute list[ATTRIBUTES];
	int count;
	struct graph graph;          /* of a graph; of a configuration or an engine, its graph's */
	const struct engine *engine; /* of a configuration or an engine */
};

/* The values of an attribute, or NULL if it was not set. */
const void *attribute_values(const struct backend *descriptor, cudnnBackendAttributeName_t name);
/* The descriptor that an attribute has; NULL: none, or it is not finalized. */
struct backend *attribute_child(const struct backend *descriptor, cudnnBackendAttributeName_t name);

/* A living descriptor of that type, or NULL and a fault. */
struct backend *backend_get(const void *descriptor, cudnnBackendDescriptorType_t type,
			    const char *call);

/* Finalizes an operation or a graph (fake_cudnn_graph.c). */
cudnnStatus_t operation_finalize(struct backend *operation);
cudnnStatus_t graph_finalize(struct backend *graph);

/* The i-th engine for the graph in the order of the heuristics, or NULL (fake_cudnn_engines.c). */
const struct engine *engine_of(const struct graph *graph, cudnnBackendHeurMode_t mode, int i);

#endif
