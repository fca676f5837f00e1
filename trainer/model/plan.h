/* SPDX-License-Identifier: MIT */
/* The private parts of a model on a device. */
#ifndef TRAIN_MODEL_PLAN_H
#define TRAIN_MODEL_PLAN_H

#include "model/model.h"
#include "model/buffers.h"

/* An operation of the stage: a live layer, or a conversion between two. */
struct node {
	struct op *op;
	int layer;           /* -1: a conversion */
	size_t weight, bias; /* offsets in flat buffers, bytes */
	bool backward_data;  /* something before it needs the gradient */
	bool reads_output;   /* backward, for ReLU's derivative */
	bool sums;           /* a pooling that computes the bias gradient of the one before */
	struct buffer output, workspace, gradient, scratch; /* gradient: of the output */
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
	unsigned char *slots;  /* activations: options.slots times slot_bytes */
	unsigned char *shared; /* gradients of activations, and scratch */
	size_t slot_bytes, shared_bytes;
	struct layout input;
	struct buffer input_at, input_gradient; /* of a slot, and shared */
	bool samples;                           /* data: this is the first stage */
	void (*traced)(void *argument, const char *layer, const char *what); /* or NULL */
	void *traced_argument;
};

/* Gives every buffer of a pass its place. */
void model_lay_out(struct model *model);

/* The addresses of a node's run. */
struct op_args node_args(const struct model *model, int node, int slot);

#endif
