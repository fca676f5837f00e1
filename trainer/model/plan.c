/* SPDX-License-Identifier: MIT */
/* Plans a stage: its operations, a conversion where layouts differ, and all addresses. */
#include "model/plan.h"

#include <stdlib.h>

static const struct layout *last_output(const struct model *m)
{
	return m->count > 0 ? &m->nodes[m->count - 1].op->info.output : &m->input;
}

static struct node *add_node(struct model *m, struct op *op, int layer)
{
	struct node *node = &m->nodes[m->count++];

	node->op = op;
	node->layer = layer;
	return node;
}

/* A conversion, if one is needed. */
static bool add_conversion(struct model *m, const struct layout *from, const struct layout *to,
			   struct train_error *error)
{
	const struct backend *backend = m->device->backend;
	struct op *op;

	if (backend->same_layout(from, to))
		return true;
	if (!backend->convert(&op, m->device, from, to, error))
		return false;
	add_node(m, op, -1);
	return true;
}

static bool in_stage(const struct model *m, int layer)
{
	return layer >= m->options.first && layer <= m->options.last &&
	       m->shapes.layers[layer].live;
}

/* Whether a layer's only reader is a pooling of this stage, which then does ReLU's derivative. */
static bool pooled_next(const struct model *m, int layer)
{
	for (int i = layer + 1; i < m->spec->count; i++)
		if (in_stage(m, i) && m->shapes.layers[i].from == layer)
			return m->spec->layers[i].kind == LAYER_MAX_POOL;
	return false;
}

static bool plan_op(struct op **op, struct model *m, int index, const struct op_shape *shape,
		    struct train_error *error)
{
	const struct backend *backend = m->device->backend;

	switch (m->spec->layers[index].kind) {
	case LAYER_CONVOLUTION:
		return backend->convolution(op, m->device, shape, error);
	case LAYER_MAX_POOL:
		return backend->max_pool(op, m->device, shape, error);
	case LAYER_LINEAR:
		break;
	}
	return backend->linear(op, m->device, shape, error);
}

/* Puts the layer's name before an error of planning it. */
static bool name_layer(const struct model *m, int index, struct train_error *error)
{
	struct train_error why = *error;

	error->status = TRAIN_OK;
	return train_fail(error, why.status, "model %s, layer %s: %s", m->spec->name,
			  m->spec->layers[index].name, why.text);
}

static size_t parameter_offset(const struct model *m, int parameter)
{
	return (size_t)(m->shapes.parameters[parameter].offset - m->first_element) *
	       value_bytes(value_of_parameters(m->options.type));
}

/* Whether the pooling after a convolution computes its bias gradient. */
static bool pool_leaves_bias(const struct model *m, int layer)
{
	return m->device->backend->pool_sums && m->spec->layers[layer].relu &&
	       m->spec->layers[layer].kind == LAYER_CONVOLUTION && pooled_next(m, layer);
}

/* Samples are filled in the layout of the first operation, if the backend can. */
static void place_samples(struct model *m, const struct layout *wanted)
{
	if (m->count == 0 && m->samples && m->device->backend->data_fills(wanted))
		m->input = *wanted;
}

static bool add_layer(struct model *m, int index, struct train_error *error)
{
	const struct layer *layer = &m->spec->layers[index];
	const struct layer_shape *at = &m->shapes.layers[index];
	bool pool = layer->kind == LAYER_MAX_POOL;
	struct op_shape shape = {
		.input = *last_output(m),
		.out = layer->out,
		.kernel = layer->kernel,
		.pad = layer->pad,
		.stride = pool ? layer->kernel : 1,
		.relu = layer->relu,
		.relu_backward = pool ? at->from >= 0 && in_stage(m, at->from) &&
						 m->spec->layers[at->from].relu
				      : layer->relu && !pooled_next(m, index),
		.no_backward_data = at->from < 0,
		.no_bias_gradient = pool_leaves_bias(m, index),
	};
	struct node *node;
	struct op *op;

	if (at->parameters >= 0) {
		shape.weight_offset = parameter_offset(m, at->parameters);
		shape.bias_offset = parameter_offset(m, at->parameters + 1);
	}
	if (shape.input.type != m->options.type)
		shape.input = layout_host(m->options.type, m->options.batch, at->in[0], at->in[1],
					  at->in[2]);
	if (!plan_op(&op, m, index, &shape, error))
		return false;
	place_samples(m, &op->info.input);
	if (!add_conversion(m, last_output(m), &op->info.input, error)) {
		op_free(op);
		return false;
	}
	node = add_node(m, op, index);
	node->reads_output = shape.relu_backward;
	node->sums =
		pool && at->from >= 0 && in_stage(m, at->from) && pool_leaves_bias(m, at->from);
	if (node->sums)
		node->bias = m->nodes[m->count - 2].bias;
	if (at->parameters >= 0) {
		node->weight = shape.weight_offset;
		node->bias = shape.bias_offset;
	}
	return true;
}

/* Gradients of data go back to the first parameters, or to the previous stage. */
static void mark_backward(struct model *m, bool first_stage)
{
	bool needed = !first_stage;

	for (int i = 0; i < m->count; i++) {
		m->nodes[i].backward_data = needed;
		needed = needed || m->nodes[i].op->calls->backward_weights;
	}
}

static bool plan_nodes(struct model *m, struct train_error *error)
{
	enum value_type type = m->options.type;
	struct layout output;

	for (int i = m->options.first; i <= m->options.last; i++) {
		const struct layer_shape *at = &m->shapes.layers[i];

		if (!in_stage(m, i))
			continue;
		if (m->count == 0) {
			m->samples = at->from < 0;
			m->input = layout_host(m->samples ? value_of_parameters(type) : type,
					       m->options.batch, at->in[0], at->in[1], at->in[2]);
		}
		if (!add_layer(m, i, error))
			return name_layer(m, i, error);
	}
	if (m->count == 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layers %s to %s: none of them reaches the loss",
				  m->spec->layers[m->options.first].name,
				  m->spec->layers[m->options.last].name);
	output = *last_output(m);
	output.order = NULL;
	if (!add_conversion(m, last_output(m), &output, error))
		return false;
	mark_backward(m, m->samples);
	model_lay_out(m, MODEL_CACHED);
	return m->options.last < m->spec->count - 1 ||
	       m->device->backend->loss(&m->loss, m->device, last_output(m), error);
}

/* The stage's parameters: those of all its layers, dead ones too. */
static void find_elements(struct model *m)
{
	bool found = false;

	for (int i = 0; i < m->shapes.parameters_count; i++) {
		const struct model_parameter *p = &m->shapes.parameters[i];

		if (p->layer < m->options.first || p->layer > m->options.last)
			continue;
		if (!found)
			m->first_element = p->offset;
		found = true;
		m->elements += p->elements;
	}
}

/* Zeroed, so that rows that do not count have valid numbers. */
static void *zeroed(struct model *m, size_t bytes, const char *what, struct train_error *error)
{
	return m->device->backend->allocate_zeros(m->device, bytes ? bytes : 1, what, error);
}

static bool allocate(struct model *m, struct train_error *error)
{
	size_t flat = (size_t)m->elements * value_bytes(value_of_parameters(m->options.type));
	bool one = m->options.slots == 1;

	m->values = zeroed(m, flat, "parameters", error);
	m->gradients = m->values ? zeroed(m, flat, "gradients", error) : NULL;
	if (!m->gradients)
		return false;
	m->slots = zeroed(m, m->slot_bytes * (size_t)m->options.slots,
			  one ? "activations, their gradients and scratch"
			      : "activations and their gradients",
			  error);
	if (one)
		m->shared = m->slots;
	else if (m->slots)
		m->shared =
			zeroed(m, m->shared_bytes, "gradients of activations, and scratch", error);
	return m->shared;
}

bool model_open(struct model **model, const struct model_spec *spec, struct device *device,
		const struct model_options *options, struct train_error *error)
{
	struct model *m;

	if (options->batch < 1 || options->slots < 1 || options->first < 0 ||
	    options->first > options->last || options->last >= spec->count)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"model %s: layers %d to %d with batches of %d; it has layers 0 to %d",
			spec->name, options->first, options->last, (int)options->batch,
			spec->count - 1);
	m = calloc(1, sizeof(*m));
	if (!m)
		return train_nomem(error, "a model");
	m->spec = spec;
	m->device = device;
	m->options = *options;
	if (!model_shapes(&m->shapes, spec, error)) {
		free(m);
		return false;
	}
	find_elements(m);
	if (!plan_nodes(m, error) || !allocate(m, error)) {
		model_close(m);
		return false;
	}
	*model = m;
	return true;
}

void model_close(struct model *m)
{
	void *const memory[] = {m->values, m->gradients, m->slots,
				m->shared == m->slots ? NULL : m->shared};

	for (int i = 0; i < m->count; i++)
		op_free(m->nodes[i].op);
	op_free(m->loss);
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (memory[i])
			m->device->backend->release(m->device, memory[i]);
	free(m);
}
