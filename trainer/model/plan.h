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
	bool in_slot; /* the gradient: each slot has its own */
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
	/* options.slots times slot_bytes: the input, activations, workspaces, and gradients that
	 * are `in_slot`. shared: other gradients, and scratch; with one slot it is that slot. */
	unsigned char *slots, *shared;
	size_t slot_bytes, shared_bytes;
	struct layout input;
	struct buffer input_at, input_gradient; /* of a slot, and shared */
	bool samples;                           /* data: this is the first stage */
	void (*traced)(void *argument, const char *layer, const char *what); /* or NULL */
	void *traced_argument;
};

/* A buffer of fewer bytes stays in the caches. Another buffer in its place would have to get the
 * lines from the core that wrote them: a step of two threads took 4 % longer at batch 32. */
enum { MODEL_CACHED = 16 << 20 };

/* Gives every buffer of a pass its place. An output of fewer than `cached` bytes shares memory with
 * nothing but its gradient. */
void model_lay_out(struct model *model, size_t cached);

/* The addresses of a node's run. */
struct op_args node_args(const struct model *model, int node, int slot);

#endif
