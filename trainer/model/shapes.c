/* SPDX-License-Identifier: MIT */
/* The shapes of layers, and the places of parameters and buffers in flat memory. */
#include <stdio.h>
#include <string.h>

#include "model/model.h"

/* The index of the layer that gives an input, -1 for the sample, -2 for none. */
static int find_from(const struct model_spec *spec, int layer, int input)
{
	const char *from = spec->layers[layer].from[input];

	if (!from)
		return input > 0 ? -2 : layer - 1;
	for (int i = 0; i < layer; i++)
		if (strcmp(spec->layers[i].name, from) == 0)
			return i;
	return -2;
}

/* A parameter or a buffer, after so many elements. */
static void add_tensor(struct model_parameter *next, int64_t *elements, int layer, const char *name,
		       const char *what, const struct tensor_shape *shape)
{
	snprintf(next->name, sizeof(next->name), "%s.%s", name, what);
	next->shape = *shape;
	next->layer = layer;
	next->offset = *elements;
	next->elements = tensor_elements(shape);
	*elements += next->elements;
}

static void add_parameter(struct model_shapes *shapes, int layer, const char *name,
			  const char *what, const struct tensor_shape *shape)
{
	add_tensor(&shapes->parameters[shapes->parameters_count++], &shapes->elements, layer, name,
		   what, shape);
}

static void add_parameters(struct model_shapes *shapes, const struct layer *layer, int index)
{
	struct layer_shape *at = &shapes->layers[index];
	struct tensor_shape bias = {1, {at->out[0]}};
	struct tensor_shape weight = {4, {layer->out, at->in[0], layer->kernel, layer->kernel}};

	if (layer->kind == LAYER_LINEAR)
		weight = (struct tensor_shape){2, {layer->out, at->in[0] * at->in[1] * at->in[2]}};
	if (layer->kind == LAYER_BATCH_NORM)
		weight = bias;
	at->parameters = shapes->parameters_count;
	add_parameter(shapes, index, layer->name, "weight", &weight);
	if (!layer->no_bias)
		add_parameter(shapes, index, layer->name, "bias", &bias);
	at->parameter_count = shapes->parameters_count - at->parameters;
}

static void add_buffers(struct model_shapes *shapes, const struct layer *layer, int index)
{
	static const char *const names[] = {"running_mean", "running_var"};
	struct layer_shape *at = &shapes->layers[index];
	const struct tensor_shape shape = {1, {at->out[0]}};

	at->buffers = shapes->buffers_count;
	for (int i = 0; i < 2; i++)
		add_tensor(&shapes->buffers[shapes->buffers_count++], &shapes->buffer_elements,
			   index, layer->name, names[i], &shape);
}

int layer_stride(const struct layer *layer)
{
	if (layer->stride)
		return layer->stride;
	return layer->kind == LAYER_MAX_POOL ? layer->kernel : 1;
}

static bool check_window(const struct layer *layer, struct train_error *error)
{
	if (layer->kernel < 1 || layer->pad < 0 || layer->pad >= layer->kernel)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: kernel %d with padding %d; a kernel is at least 1 and "
				  "greater than its padding",
				  layer->name, layer->kernel, layer->pad);
	if (layer->kind == LAYER_MAX_POOL && layer->pad > layer->kernel / 2)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"layer %s: kernel %d with padding %d; the padding of a pooling is "
			"at most half of its kernel",
			layer->name, layer->kernel, layer->pad);
	return layer->stride >= 0 ||
	       train_fail(error, TRAIN_BAD_INPUT, "layer %s: stride %d; give at least 1",
			  layer->name, layer->stride);
}

static bool check_layer(const struct layer *layer, struct train_error *error)
{
	bool pools = layer->kind == LAYER_MAX_POOL || layer->kind == LAYER_MEAN_POOL;
	bool window = layer->kind == LAYER_MAX_POOL || layer->kind == LAYER_CONVOLUTION;

	if (pools && layer->relu)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: ReLU of a pooling; move it to the layer before",
				  layer->name);
	if (layer->no_bias && layer->kind != LAYER_CONVOLUTION)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: no_bias; only a convolution can be without one",
				  layer->name);
	return !window || check_window(layer, error);
}

/* The output of a layer whose input is known. */
static bool layer_output(struct layer_shape *at, const struct layer *layer,
			 struct train_error *error)
{
	bool same = layer->kind == LAYER_ADD || layer->kind == LAYER_BATCH_NORM;
	bool sums = layer->kind == LAYER_CONVOLUTION || layer->kind == LAYER_LINEAR;

	if (!check_layer(layer, error))
		return false;
	if (same) {
		memcpy(at->out, at->in, sizeof(at->out));
		return true;
	}
	at->out[0] = sums ? layer->out : at->in[0];
	at->out[1] = at->out[2] = 1;
	if (at->out[0] < 1)
		return train_fail(error, TRAIN_BAD_INPUT, "layer %s: it has no outputs",
				  layer->name);
	if (layer->kind == LAYER_LINEAR || layer->kind == LAYER_MEAN_POOL)
		return true;
	for (int i = 1; i < 3; i++) {
		if (at->in[i] + 2 * layer->pad < layer->kernel)
			return train_fail(
				error, TRAIN_BAD_INPUT,
				"layer %s: kernel %d is greater than its input of %d x %d",
				layer->name, layer->kernel, (int)at->in[1], (int)at->in[2]);
		at->out[i] = (at->in[i] + 2 * layer->pad - layer->kernel) / layer_stride(layer) + 1;
	}
	return true;
}

static void output_of(const struct model_shapes *shapes, const struct model_spec *spec, int layer,
		      int64_t out[3])
{
	const int64_t sample[3] = {spec->channels, spec->height, spec->width};

	memcpy(out, layer < 0 ? sample : shapes->layers[layer].out, sizeof(sample));
}

/* Both inputs of an addition have one shape, and come from two layers. */
static bool can_add(const struct model_shapes *shapes, const struct model_spec *spec, int index,
		    struct train_error *error)
{
	const struct layer_shape *at = &shapes->layers[index];
	const char *name = spec->layers[index].name, *with = spec->layers[index].from[1];
	int64_t more[3];

	output_of(shapes, spec, at->from[1], more);
	if (at->from[0] == at->from[1])
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: it adds %s to itself; name another layer", name, with);
	return memcmp(at->in, more, sizeof(more)) == 0 ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "layer %s: its inputs are %d x %d x %d and, of %s, %d x %d x %d; an "
			  "addition needs equal ones",
			  name, (int)at->in[0], (int)at->in[1], (int)at->in[2], with, (int)more[0],
			  (int)more[1], (int)more[2]);
}

static bool find_inputs(struct model_shapes *shapes, const struct model_spec *spec, int index,
			struct train_error *error)
{
	const struct layer *layer = &spec->layers[index];
	struct layer_shape *at = &shapes->layers[index];

	at->inputs = layer->kind == LAYER_ADD ? 2 : 1;
	if (at->inputs == 1 && layer->from[1])
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: %s is a second input; only an addition has two",
				  layer->name, layer->from[1]);
	if (at->inputs == 2 && !layer->from[1])
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layer %s: an addition has two inputs; name the second",
				  layer->name);
	for (int k = 0; k < at->inputs; k++) {
		at->from[k] = find_from(spec, index, k);
		if (at->from[k] == -2)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "layer %s: there is no layer '%s' before it", layer->name,
					  layer->from[k]);
	}
	output_of(shapes, spec, at->from[0], at->in);
	return layer->kind != LAYER_ADD || can_add(shapes, spec, index, error);
}

static bool layer_shape(struct model_shapes *shapes, const struct model_spec *spec, int index,
			struct train_error *error)
{
	const struct layer *layer = &spec->layers[index];
	struct layer_shape *at = &shapes->layers[index];

	at->parameters = at->buffers = -1;
	if (!find_inputs(shapes, spec, index, error) || !layer_output(at, layer, error))
		return false;
	if (layer->kind == LAYER_BATCH_NORM)
		add_buffers(shapes, layer, index);
	else if (layer->kind != LAYER_CONVOLUTION && layer->kind != LAYER_LINEAR)
		return true;
	if (shapes->parameters_count + 2 - layer->no_bias > MODEL_MAX_PARAMETERS)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"model %s, layer %s: a model can have %d parameters; use fewer layers",
			spec->name, layer->name, (int)MODEL_MAX_PARAMETERS);
	add_parameters(shapes, layer, index);
	return true;
}

/* The loss reads channels as classes. */
static bool gives_logits(const struct model_shapes *shapes, const struct model_spec *spec,
			 struct train_error *error)
{
	const int64_t *out = shapes->layers[spec->count - 1].out;

	return out[1] * out[2] == 1 ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "layer %s gives %d x %d x %d; the last gives logits, C x 1 x 1: put a "
			  "linear layer after it",
			  spec->layers[spec->count - 1].name, (int)out[0], (int)out[1],
			  (int)out[2]);
}

int model_crossing(const struct model_shapes *shapes, const struct model_spec *spec, int last,
		   int *reads)
{
	int out = last;

	while (out >= 0 && !shapes->layers[out].live)
		out--;
	for (int i = last + 1; i < spec->count; i++)
		for (int k = 0; shapes->layers[i].live && k < shapes->layers[i].inputs; k++)
			if (shapes->layers[i].from[k] < out) {
				*reads = shapes->layers[i].from[k];
				return i;
			}
	return -1;
}

bool model_shapes(struct model_shapes *shapes, const struct model_spec *spec,
		  struct train_error *error)
{
	*shapes = (struct model_shapes){.elements = 0};
	if (spec->count < 1 || spec->count > MODEL_MAX_LAYERS)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "model %s: %d layers; it can have 1 to %d", spec->name,
				  spec->count, (int)MODEL_MAX_LAYERS);
	for (int i = 0; i < spec->count; i++)
		if (!layer_shape(shapes, spec, i, error))
			return false;
	if (!gives_logits(shapes, spec, error))
		return false;
	model_find_live(shapes, spec);
	return true;
}
