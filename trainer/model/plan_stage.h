/* SPDX-License-Identifier: MIT */
/* How a model on a device is planned. */
#ifndef TRAIN_MODEL_PLAN_STAGE_H
#define TRAIN_MODEL_PLAN_STAGE_H

#include "model/model.h"

/* How the gradient of an input gets where it lies. */
enum gradient_giving {
	GIVES_NONE,   /* nothing needs it */
	GIVES_FIRST,  /* the operation writes it there */
	GIVES_SUM,    /* it is added to those of later readers */
	GIVES_SHARED, /* an addition: it is the output's, in the same memory */
	GIVES_COPY,   /* an addition: it is copied from the output's */
};

/* An operation of the stage: a live layer, or a conversion for some of them. */
struct node {
	struct op *op;
	int layer;   /* -1: a conversion */
	int pooling; /* the layer after it that the operation computes too; -1: none */
	int from[LAYER_MAX_INPUTS]; /* the nodes that it reads; -1: the stage's input */
	int inputs;                 /* 2: an addition */
	enum gradient_giving gives[LAYER_MAX_INPUTS];
	int gradient_of;     /* the output's gradient lies where that of this node lies */
	struct op *sum;      /* adds to the output's gradient; NULL: nothing is added */
	size_t weight, bias; /* offsets in flat buffers, bytes */
	bool has_bias;
	size_t running_mean, running_var; /* of a batch normalization: the same */
	bool backward_data;               /* something before it needs the gradient */
	bool reads_output;                /* backward, for ReLU's derivative */
	bool sums; /* a pooling that computes the bias gradient of the one before */
	/* gradient: of the output; partial: of the input, before it is added to others */
	struct buffer output, workspace, gradient, scratch, partial;
	bool in_slot; /* the gradient: each slot has its own */
};

/* Two conversions of each layer, and that at the end of the stage. */
enum { MODEL_MAX_NODES = (1 + LAYER_MAX_INPUTS) * MODEL_MAX_LAYERS + 1 };

/* A buffer of fewer bytes stays in the caches. Another buffer in its place would have to get the
 * lines from the core that wrote them: a step of two threads took 4 % longer at batch 32. */
enum { MODEL_CACHED = 16 << 20 };

/* Where a parameter of the stage, or a buffer, lies in its flat buffer. */
struct flat_place {
	size_t offset, bytes;
};
struct flat_place parameter_place(const struct model *model, int parameter);
struct flat_place buffer_place(const struct model *model, int buffer);

/* Whether `read` is one of the inputs. */
bool has_input(const int *from, int inputs, int read);
bool node_reads(const struct node *node, int read);
/* The last node that reads the output of `node`; -1: none does. */
int last_reader(const struct model *model, int node);

/* Finds which gradients backward computes, and how the inputs get theirs (gradients.c). */
void model_plan_gradients(struct model *model);
/* Whether backward computes the gradient of the output of `node`; -1: of the stage's input. */
bool needs_gradient(const struct model *model, int node);
/* Whether a node's gradient of its input is first written to `partial`. */
bool node_has_partial(const struct node *node);
/* Whether something is added to the gradient of the output of `node`; -1: of the stage's input. */
bool sums_gradients(const struct model *model, int node);

/* Gives every buffer of a pass its place, after model_plan_gradients(). An output of fewer than
 * `cached` bytes shares memory with nothing but its gradient. */
void model_lay_out(struct model *model, size_t cached);

/* The addresses of a node's run. */
struct op_args node_args(const struct model *model, int node, int slot);

#endif
