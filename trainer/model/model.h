/* SPDX-License-Identifier: MIT */
/*
 * Models: graphs of layers (models.def, layer_tables.c), the shapes that follow from a graph
 * (shapes.c), and a model or a stage of one on a device (plan.c), with its gradients (gradients.c),
 * its memory (memory.c, memory_reuse.c), and its forward and backward passes (pass.c).
 *
 * A graph is a list in which each layer reads layers before it. Several layers may read one: the
 * gradient of its output is the sum of theirs, from the last reader to the first.
 */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include "backend/backend.h"
#include "base/tensor.h"
#include "model/memory_reuse.h"

/* ResNet-50 has 125 layers. */
enum {
	MODEL_MAX_LAYERS = 128,
	MODEL_MAX_PARAMETERS = GRADIENT_MAX_PARAMETERS,
	LAYER_MAX_INPUTS = 2
};

enum layer_kind {
	LAYER_CONVOLUTION,
	LAYER_MAX_POOL,
	LAYER_MEAN_POOL,  /* the mean of each channel: AdaptiveAvgPool2d(1), then flatten */
	LAYER_BATCH_NORM, /* BatchNorm2d with its defaults: eps 1e-5, momentum 0.1 */
	LAYER_LINEAR,
	LAYER_ADD, /* of two inputs of one shape */
	LAYER_KINDS
};

struct layer {
	const char *name; /* its parameters are NAME.weight and NAME.bias */
	enum layer_kind kind;
	int out, kernel, pad;
	int stride;   /* 0: 1, and the kernel's size in a pooling */
	bool no_bias; /* of a convolution */
	bool relu;    /* of its output */
	bool kaiming; /* its first weights: init_kaiming(); else PyTorch's default */
	/* the layers that give its inputs; the first NULL: the layer before */
	const char *from[LAYER_MAX_INPUTS];
};

/* The stride that it has. */
int layer_stride(const struct layer *layer);

struct model_spec {
	const char *name;
	int channels, height, width; /* of a sample */
	int count;
	const struct layer *layers; /* the last one gives the logits */
};

/* One of models.def; NULL with a message that lists them. */
const struct model_spec *model_find(const char *name, struct train_error *error);

/* The same for images of size x size; 0: of the usual size. Large images have models with other
 * layers (models.def). Bad input: a model for images of one size. */
bool model_for_images(struct model_spec *spec, const char *name, int size,
		      struct train_error *error);

/* --- shapes -------------------------------------------------------------------------------- */

struct layer_shape {
	int from[LAYER_MAX_INPUTS]; /* the layers that it reads, -1: the sample */
	int inputs;
	int64_t in[3], out[3]; /* channels, height, width; of each input */
	bool live;             /* reaches the loss; other layers are not trained */
	int parameters;        /* the index of its weight; -1: none */
	int parameter_count;   /* weight, then bias */
	int buffers;           /* the index of running_mean, before running_var; -1: none */
};

/* A parameter, or a buffer: a tensor of a layer that is not trained; PyTorch's words. */
struct model_parameter {
	char name[64]; /* "conv1.weight", "bn1.running_mean" */
	struct tensor_shape shape;
	int layer;
	int64_t offset, elements; /* in the flat buffers of the whole model */
};

struct model_shapes {
	struct layer_shape layers[MODEL_MAX_LAYERS];
	int parameters_count;
	struct model_parameter parameters[MODEL_MAX_PARAMETERS]; /* in the order of state_dict */
	int64_t elements;                                        /* of all of them */
	int buffers_count;
	struct model_parameter buffers[2 * MODEL_MAX_LAYERS]; /* in the order of state_dict */
	int64_t buffer_elements;
};

/* Bad input, for example: a kernel larger than its input, an unknown layer, two inputs of different
 * shapes, or a last layer whose output is a plane of more than one value. */
bool model_shapes(struct model_shapes *shapes, const struct model_spec *spec,
		  struct train_error *error);

/* Notes which layers are live: they reach the loss. Part of model_shapes(). */
void model_find_live(struct model_shapes *shapes, const struct model_spec *spec);
/* False if a layer with parameters does not reach the loss, with its name. */
bool model_all_live(const struct model_shapes *shapes, const struct model_spec *spec,
		    struct train_error *error);

/* Model parallelism sends one tensor from a stage to the next. Returns a layer after `last` that
 * needs another output of the layers up to `last` than that of the last live one, and sets *reads
 * to the layer with that output; -1: there is none. */
int model_crossing(const struct model_shapes *shapes, const struct model_spec *spec, int last,
		   int *reads);

/* --- on a device --------------------------------------------------------------------------- */

struct model_options {
	int64_t batch; /* rows of a pass; fewer may count (struct pass_control) */
	int slots;     /* sets of activations: micro-batches in flight, 1 without */
	enum value_type type;
	int first, last; /* the layers of this stage, as indices; 0 and count - 1 for all */
	/* Only optimize_run() reads gradients, where model_raw_gradient() says; those parts of
	 * the gradients are not written. */
	bool raw_gradients;
	int ranks; /* the most that may normalize batches as one; 0: none do */
};

struct node;

/* A model, or a stage of one. */
struct model {
	const struct model_spec *spec;
	struct model_shapes shapes; /* of the whole model */
	struct device *device;
	struct model_options options;

	/* Flat buffers on the device with the stage's parameters: from first_element on, in the
	 * device's order; float, double for float64. Sums and optimizers, which treat all elements
	 * alike, need not know the order. Two models with equal options on equal processors have
	 * the same. */
	int64_t first_element, elements;
	void *values;
	void *gradients; /* of the last backward; zero where dead */
	/* The same with the running statistics of the stage's batch normalizations. They are zero
	 * until they are written. */
	int64_t first_buffer, buffer_elements;
	void *buffers;
	struct layout input; /* of samples, for the backend's data_fills() */

	/* The rest is that of trainer/model. */
	int count;
	struct node *nodes;
	struct op *loss, *input_sum; /* input_sum: as a node's sum */
	/* options.slots times slot_bytes: the input, activations, workspaces, and gradients that
	 * are `in_slot`. shared: other gradients, and scratch; with one slot it is that slot. */
	unsigned char *slots, *shared;
	size_t slot_bytes, shared_bytes;
	struct buffer input_at, input_gradient; /* of a slot, and shared */
	bool samples;                           /* data: this is the first stage */
	void (*traced)(void *argument, const char *layer, const char *what); /* or NULL */
	void *traced_argument;
	const struct batch_ranks *ranks; /* share batch normalizations; or NULL */
};

/* Allocates all memory on the device; nothing is allocated later. */
bool model_open(struct model **model, const struct model_spec *spec, struct device *device,
		const struct model_options *options, struct train_error *error);
void model_close(struct model *model);

/* One parameter of the stage between the host, in PyTorch's order, and a flat buffer. They wait. */
bool model_write(struct model *model, void *flat, int parameter, const void *host,
		 struct train_error *error);
bool model_read(struct model *model, const void *flat, int parameter, void *host,
		struct train_error *error);

/* The same of a buffer of the stage. */
bool model_write_buffer(struct model *model, int buffer, const void *host,
			struct train_error *error);
bool model_read_buffer(struct model *model, int buffer, void *host, struct train_error *error);

/* Device addresses, which do not change. Activations at the ends of a stage are in host order:
 * (batch, channels, height, width), of the model's type. */
void *model_input(const struct model *model, int slot);
void *model_output(const struct model *model, int slot); /* logits or the next stage's input */
void *model_input_gradient(const struct model *model);   /* NULL in the first stage */
void *model_output_gradient(const struct model *model);
size_t model_output_bytes(const struct model *model);

/* Call it after values have changed. updated: optimize_run() changed them, with the copies that it
 * knows. */
bool model_prepare(struct model *model, bool updated, struct train_error *error);
/* What optimize_run() should write and read of a parameter of the stage beside the flat buffers: a
 * copy, and with raw_gradients the gradient. Without memory: nothing. */
struct value_rows model_copy(const struct model *model, int parameter);
struct value_rows model_raw_gradient(const struct model *model, int parameter);

/* What layers that depend on the whole batch need. */
struct model_pass {
	const struct pass_control *control; /* on the device: the rows that count */
	/* Batches are normalized by their own statistics, and the running ones move; otherwise by
	 * the running ones, and no backward may follow. */
	bool training;
};

/* From now on batch normalizations in training are over the batches of all ranks (backend.h), at
 * most those of the options. NULL: over this one's again. */
void model_normalize_with(struct model *model, const struct batch_ranks *ranks);

/* pass may be NULL if no layer normalizes batches. */
bool model_forward(struct model *model, int slot, const struct model_pass *pass,
		   struct train_error *error);
/* Last stage: the loss of its output is added to *result or overwrites it, and its gradient goes to
 * model_output_gradient() if requested. All are on the device. */
struct model_loss {
	const int32_t *labels;
	const struct pass_control *control;
	struct loss_result *result;
	bool gradient;
	const struct scaler *scaler; /* NULL: none */
	bool overwrite;
};

bool model_loss(struct model *model, int slot, const struct model_loss *loss,
		struct train_error *error);
/* Backward from the output's gradient, which it overwrites; in the last stage after a model_loss()
 * with a gradient. control is that of forward. Each of these, unless NULL, is called for the layers
 * with parameters, from the last to the first. ready: the gradients of the layer's parameters are
 * on the stream, and the gradient of its input may not be. done: both are, so that nothing which
 * follows in the pass reads the parameters. */
struct model_watch {
	bool (*ready)(void *argument, int layer, struct train_error *error);
	bool (*done)(void *argument, int layer, struct train_error *error);
	void *argument;
};

bool model_backward(struct model *model, int slot, const struct pass_control *control,
		    const struct model_watch *watch, struct train_error *error);

/* Calls `done` after each operation that a pass puts on the stream, with the name of its layer (the
 * convolution's, if it computes the pooling too) and the operation: "prepare", "forward", "backward
 * weights", "backward data", "loss" (the last layer's), and for a conversion, with the layer after
 * it (at the end the last one), "convert" and "convert back"; where several layers read one, "add
 * gradients" and "copy gradient", with the layer that gives the gradient. NULL: stops. */
void model_trace(struct model *model,
		 void (*done)(void *argument, const char *layer, const char *what), void *argument);

#endif
