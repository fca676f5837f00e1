/* SPDX-License-Identifier: MIT */
/* The private parts of a model on a device. */
#ifndef TRAIN_MODEL_PLAN_H
#define TRAIN_MODEL_PLAN_H

#include "model/model.h"

/* An operation of the stage: a live layer, or a conversion between two. */
struct node {
	struct op *op;
	int layer;                /* -1: a conversion */
	size_t output, workspace; /* offsets in a slot */
	size_t weight, bias;      /* offsets in flat buffers, bytes */
	bool backward_data;       /* something before it needs the gradient */
	bool sums;                /* a pooling that computes the bias gradient of the one before */
	bool in_place;            /* the gradient of its output takes the output's memory */
};

struct model {
	const struct model_spec *spec;
	struct model_shapes shapes;
	struct device *device;
	struct model_options options;
	int count;
	struct node nodes[2 * MODEL_MAX_LAYERS + 1];
	struct op *loss;
	int64_t first_element, elements; /* of the stage's parameters in those of the model */
	unsigned char *values, *gradients;
	unsigned char *slots; /* activations: options.slots times slot_bytes */
	size_t slot_bytes;
	struct layout input; /* at 0 of a slot */
	bool samples;        /* data: this is the first stage */
	void *gradient[2];   /* gradients of activations: a node reads one and writes the other */
	void *scratch;
	void (*traced)(void *argument, const char *layer, const char *what); /* or NULL */
	void *traced_argument;
};

/* The addresses of a node's run. */
struct op_args node_args(const struct model *model, int node, int slot);

#endif
