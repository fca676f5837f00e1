/* SPDX-License-Identifier: MIT */
/* Plans a stage: its operations, conversions where layouts differ, and all addresses. */
#include "model/plan_stage.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* What a node writes; -1: the stage's input. */
static const struct layout *output_of(const struct model *m, int node)
{
	return node < 0 ? &m->input : &m->nodes[node].op->info.output;
}

/* The node of a layer; -1: it is in an earlier stage, or the sample. */
static int node_of(const struct model *m, int layer)
{
	int node = layer < 0 ? -1 : m->count - 1;

	while (node >= 0 && m->nodes[node].layer != layer && m->nodes[node].pooling != layer)
		node--;
	return node;
}

static struct node *add_node(struct model *m, struct op *op, int layer, const int *from, int inputs)
{
	struct node *node = &m->nodes[m->count++];

	node->op = op;
	node->layer = layer;
	node->pooling = -1;
	node->inputs = inputs;
	memcpy(node->from, from, (size_t)inputs * sizeof(*from));
	return node;
}

/* Changes *from to a conversion of it, if one is needed. Readers of one layout share it. */
static bool convert_to(struct model *m, int *from, const struct layout *to,
		       struct train_error *error)
{
	const struct backend *backend = m->device->backend;
	struct op *op;

	if (backend->same_layout(output_of(m, *from), to))
		return true;
	for (int i = *from + 1; i < m->count; i++)
		if (m->nodes[i].layer < 0 && m->nodes[i].from[0] == *from &&
		    backend->same_layout(output_of(m, i), to)) {
			*from = i;
			return true;
		}
	if (!backend->convert(&op, m->device, output_of(m, *from), to, error))
		return false;
	add_node(m, op, -1, from, 1);
	*from = m->count - 1;
	return true;
}

static bool in_stage(const struct model *m, int layer)
{
	return layer >= m->options.first && layer <= m->options.last &&
	       m->shapes.layers[layer].live;
}

/* The only layer of this stage that reads a layer; -1: none or several do. */
static int only_reader(const struct model *m, int layer)
{
	int reader = -1;

	for (int i = layer + 1; i < m->spec->count; i++)
		if (in_stage(m, i) &&
		    has_input(m->shapes.layers[i].from, m->shapes.layers[i].inputs, layer)) {
			if (reader >= 0)
				return -1;
			reader = i;
		}
	return reader;
}

/* The pooling of this stage that alone reads a layer, and then does ReLU's derivative; -1: there is
 * none. */
static int pooling_of(const struct model *m, int layer)
{
	int reader = only_reader(m, layer);

	return reader >= 0 && m->spec->layers[reader].kind == LAYER_MAX_POOL ? reader : -1;
}

static bool plan_op(struct op **op, struct model *m, int index, const struct op_shape *shape,
		    struct train_error *error)
{
	enum layer_kind kind = m->spec->layers[index].kind;
	const struct backend *backend = m->device->backend;
	const struct {
		op_make *make;
		const char *name;
	} ops[LAYER_KINDS] = {
		[LAYER_CONVOLUTION] = {backend->convolution, "convolution"},
		[LAYER_MAX_POOL] = {backend->max_pool, "max pooling"},
		[LAYER_MEAN_POOL] = {backend->mean_pool, "average pooling"},
		[LAYER_BATCH_NORM] = {backend->batch_norm, "batch normalization"},
		[LAYER_LINEAR] = {backend->linear, "linear layer"},
		[LAYER_ADD] = {backend->addition, "addition"},
	};

	return ops[kind].make
		       ? ops[kind].make(op, m->device, shape, error)
		       : train_fail(error, TRAIN_NO_BACKEND,
				    "backend %s has no %s; use --backend onednn or reference",
				    backend->name, ops[kind].name);
}

/* Puts the layer's name before an error of planning it. */
static bool name_layer(const struct model *m, int index, struct train_error *error)
{
	struct train_error why = *error;

	error->status = TRAIN_OK;
	return train_fail(error, why.status, "model %s, layer %s: %s", m->spec->name,
			  m->spec->layers[index].name, why.text);
}

static struct flat_place place_of(const struct model *m, const struct model_parameter *p,
				  int64_t first)
{
	size_t each = value_bytes(value_of_parameters(m->options.type));

	return (struct flat_place){(size_t)(p->offset - first) * each, (size_t)p->elements * each};
}

struct flat_place parameter_place(const struct model *m, int parameter)
{
	return place_of(m, &m->shapes.parameters[parameter], m->first_element);
}

struct flat_place buffer_place(const struct model *m, int buffer)
{
	return place_of(m, &m->shapes.buffers[buffer], m->first_buffer);
}

/* Whether the pooling after a convolution computes its bias gradient. */
static bool pool_leaves_bias(const struct model *m, int layer)
{
	const struct layer *at = &m->spec->layers[layer];

	return m->device->backend->pool_sums && at->relu && at->kind == LAYER_CONVOLUTION &&
	       !at->no_bias && pooling_of(m, layer) >= 0;
}

/* Samples are filled in the layout of the first operation, if the backend can. */
static void place_samples(struct model *m, const struct layout *wanted)
{
	if (m->count == 0 && m->samples && m->device->backend->data_fills(wanted))
		m->input = *wanted;
}

/* Whether this pooling does ReLU's derivative for the layer before it. */
static bool pools_relu(const struct model *m, int index)
{
	int from = m->shapes.layers[index].from[0];

	return m->spec->layers[index].kind == LAYER_MAX_POOL && from >= 0 && in_stage(m, from) &&
	       m->spec->layers[from].relu && pooling_of(m, from) >= 0;
}

static struct op_shape shape_of(const struct model *m, int index)
{
	const struct layer *layer = &m->spec->layers[index];
	const struct layer_shape *at = &m->shapes.layers[index];
	bool pool = layer->kind == LAYER_MAX_POOL;
	struct op_shape shape = {
		.input = *output_of(m, node_of(m, at->from[0])),
		.out = layer->out,
		.kernel = layer->kernel,
		.pad = layer->pad,
		.stride = layer_stride(layer),
		.eps = 1e-5,
		.momentum = 0.1,
		.ranks = m->options.ranks,
		.relu = layer->relu,
		.relu_backward =
			pool ? pools_relu(m, index) : layer->relu && pooling_of(m, index) < 0,
		.no_backward_data = at->from[0] < 0,
		.no_bias = layer->no_bias,
		.no_bias_gradient = pool_leaves_bias(m, index),
		.raw_gradient = m->options.raw_gradients,
	};

	if (at->parameters >= 0) {
		shape.weight_offset = parameter_place(m, at->parameters).offset;
		if (at->parameter_count > 1)
			shape.bias_offset = parameter_place(m, at->parameters + 1).offset;
	}
	if (shape.input.type != m->options.type)
		shape.input = layout_host(m->options.type, m->options.batch, at->in[0], at->in[1],
					  at->in[2]);
	return shape;
}

/* Adds the operation of a layer, after the conversions that it needs. NULL: it is freed. */
static struct node *add_op(struct model *m, struct op *op, int index, const struct op_shape *shape,
			   struct train_error *error)
{
	const struct layer_shape *at = &m->shapes.layers[index];
	int from[LAYER_MAX_INPUTS];
	struct node *node;

	place_samples(m, &op->info.input);
	for (int k = 0; k < at->inputs; k++) {
		from[k] = node_of(m, at->from[k]);
		if (!convert_to(m, &from[k], &op->info.input, error)) {
			op_free(op);
			return NULL;
		}
	}
	node = add_node(m, op, index, from, at->inputs);
	node->has_bias = at->parameter_count > 1;
	node->weight = shape->weight_offset;
	node->bias = shape->bias_offset;
	if (at->buffers >= 0) {
		node->running_mean = buffer_place(m, at->buffers).offset;
		node->running_var = buffer_place(m, at->buffers + 1).offset;
	}
	return node;
}

static bool add_layer(struct model *m, int index, struct train_error *error)
{
	const struct layer_shape *at = &m->shapes.layers[index];
	const struct op_shape shape = shape_of(m, index);
	int before = node_of(m, at->from[0]);
	struct node *node;
	struct op *op;

	if (!plan_op(&op, m, index, &shape, error))
		return false;
	node = add_op(m, op, index, &shape, error);
	if (!node)
		return false;
	node->reads_output = shape.relu_backward && !op->info.relu_from_input;
	node->sums = pools_relu(m, index) && pool_leaves_bias(m, at->from[0]);
	if (node->sums) {
		node->has_bias = true;
		node->bias = m->nodes[before].bias;
	}
	return true;
}

/* Adds a convolution of data and the pooling after it as one operation, if the backend has one for
 * them; else it adds nothing. */
static bool add_with_pooling(struct model *m, int index, bool *added, struct train_error *error)
{
	const struct backend *backend = m->device->backend;
	const struct op_shape shape = shape_of(m, index);
	int pooling = pooling_of(m, index);
	struct op_shape pool;
	struct node *node;
	struct op *op;

	*added = false;
	if (!backend->convolution_pool || m->spec->layers[index].kind != LAYER_CONVOLUTION ||
	    !shape.relu || !shape.no_backward_data || pooling < 0)
		return true;
	pool = shape_of(m, pooling);
	if (!backend->convolution_pool(&op, m->device, &shape, &pool, error))
		return false;
	if (!op)
		return true;
	node = add_op(m, op, index, &shape, error);
	if (!node)
		return false;
	node->reads_output = true;
	node->pooling = pooling;
	*added = true;
	return true;
}

/* Adds a layer, unless the operation of an earlier one computes it too. */
static bool add_unless_added(struct model *m, int index, struct train_error *error)
{
	bool added = node_of(m, index) >= 0;

	return added ||
	       (add_with_pooling(m, index, &added, error) && (added || add_layer(m, index, error)));
}

/* The stage's input is the output of one layer, or samples. */
static void find_input(struct model *m, int first_live)
{
	const struct layer_shape *at = &m->shapes.layers[first_live];
	enum value_type type = m->options.type;

	m->samples = at->from[0] < 0;
	m->input = layout_host(m->samples ? value_of_parameters(type) : type, m->options.batch,
			       at->in[0], at->in[1], at->in[2]);
}

/* Fails if more than one tensor would cross an end of the stage. */
static bool check_end(const struct model *m, int last, struct train_error *error)
{
	int reads, by = model_crossing(&m->shapes, m->spec, last, &reads);

	return by < 0 ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "model %s cannot be cut after layer %s: %s also reads %s; cut it "
			  "elsewhere",
			  m->spec->name, m->spec->layers[last].name, m->spec->layers[by].name,
			  m->spec->layers[reads].name);
}

static bool plan_layers(struct model *m, struct train_error *error)
{
	int last;
	struct layout output;

	if (!check_end(m, m->options.first - 1, error) || !check_end(m, m->options.last, error))
		return false;
	for (int i = m->options.first; i <= m->options.last; i++) {
		if (!in_stage(m, i))
			continue;
		if (m->count == 0)
			find_input(m, i);
		if (!add_unless_added(m, i, error))
			return name_layer(m, i, error);
	}
	last = m->count - 1;
	if (last < 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "layers %s to %s: none of them reaches the loss",
				  m->spec->layers[m->options.first].name,
				  m->spec->layers[m->options.last].name);
	output = *output_of(m, last);
	output.order = NULL;
	return convert_to(m, &last, &output, error);
}

/* The additions of gradients where several nodes read one output. */
static bool plan_sums(struct model *m, struct train_error *error)
{
	for (int i = -1; i < m->count; i++) {
		const struct op_shape shape = {.input = *output_of(m, i)};
		struct op **sum = i < 0 ? &m->input_sum : &m->nodes[i].sum;

		if (sums_gradients(m, i) &&
		    !m->device->backend->addition(sum, m->device, &shape, error))
			return false;
	}
	return true;
}

/* Those of all layers of the stage, dead ones too. */
static void find_elements(const struct model *m, const struct model_parameter *all, int count,
			  int64_t *first, int64_t *elements)
{
	for (int i = 0; i < count; i++) {
		if (all[i].layer < m->options.first || all[i].layer > m->options.last)
			continue;
		if (*elements == 0)
			*first = all[i].offset;
		*elements += all[i].elements;
	}
}

static bool plan_nodes(struct model *m, struct train_error *error)
{
	find_elements(m, m->shapes.parameters, m->shapes.parameters_count, &m->first_element,
		      &m->elements);
	find_elements(m, m->shapes.buffers, m->shapes.buffers_count, &m->first_buffer,
		      &m->buffer_elements);
	if (!plan_layers(m, error))
		return false;
	model_plan_gradients(m);
	if (!plan_sums(m, error))
		return false;
	model_lay_out(m, MODEL_CACHED);
	return m->options.last < m->spec->count - 1 ||
	       m->device->backend->loss(&m->loss, m->device, output_of(m, m->count - 1), error);
}

/* Zeroed, so that rows that do not count have valid numbers. */
static void *zeroed(struct model *m, size_t bytes, const char *what, struct train_error *error)
{
	return m->device->backend->allocate_zeros(m->device, bytes ? bytes : 1, what, error);
}

static bool allocate(struct model *m, struct train_error *error)
{
	size_t each = value_bytes(value_of_parameters(m->options.type));
	size_t flat = (size_t)m->elements * each;
	bool one = m->options.slots == 1;

	m->values = zeroed(m, flat, "parameters", error);
	m->gradients = m->values ? zeroed(m, flat, "gradients", error) : NULL;
	if (!m->gradients)
		return false;
	if (m->buffer_elements > 0) {
		m->buffers =
			zeroed(m, (size_t)m->buffer_elements * each, "running statistics", error);
		if (!m->buffers)
			return false;
	}
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
	m = xcalloc(1, sizeof(*m));
	m->nodes = xcalloc(MODEL_MAX_NODES, sizeof(*m->nodes));
	m->spec = spec;
	m->device = device;
	m->options = *options;
	if (!model_shapes(&m->shapes, spec, error) || !plan_nodes(m, error) ||
	    !allocate(m, error)) {
		model_close(m);
		return false;
	}
	*model = m;
	return true;
}

void model_close(struct model *m)
{
	void *const memory[] = {m->values, m->gradients, m->buffers, m->slots,
				m->shared == m->slots ? NULL : m->shared};

	for (int i = 0; i < m->count; i++) {
		op_free(m->nodes[i].sum);
		op_free(m->nodes[i].op);
	}
	op_free(m->input_sum);
	op_free(m->loss);
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		m->device->backend->release(m->device, memory[i]);
	free(m->nodes);
	free(m);
}
