/* SPDX-License-Identifier: MIT */
/* Runs a stage, and gives its addresses. */
#include "model/plan_stage.h"

static void *in_slot(const struct model *m, const struct buffer *buffer, int slot)
{
	return m->slots + (size_t)slot * m->slot_bytes + buffer->at;
}

static void *in_shared(const struct model *m, const struct buffer *buffer)
{
	return buffer->bytes > 0 ? m->shared + buffer->at : NULL;
}

/* The gradient of a node's output; of node -1, of the stage's input. */
static void *gradient_of(const struct model *m, int node, int slot)
{
	if (node < 0)
		return in_shared(m, &m->input_gradient);
	node = m->nodes[node].gradient_of;
	if (m->nodes[node].in_slot)
		return in_slot(m, &m->nodes[node].gradient, slot);
	return in_shared(m, &m->nodes[node].gradient);
}

/* Whether an operation gives a bias gradient; a pooling does only if it is requested. */
static bool gives_bias(const struct model *m, int index)
{
	const struct node *node = &m->nodes[index];

	return node->has_bias && (node->sums || node->op->calls->backward_weights);
}

/* The output of a node; of node -1, the stage's input. */
static void *output_of(const struct model *m, int node, int slot)
{
	return in_slot(m, node < 0 ? &m->input_at : &m->nodes[node].output, slot);
}

struct op_args node_args(const struct model *m, int index, int slot)
{
	const struct node *node = &m->nodes[index];
	unsigned char *values = m->values, *gradients = m->gradients, *buffers = m->buffers;

	return (struct op_args){
		.input = output_of(m, node->from[0], slot),
		.addend = node->inputs > 1 ? output_of(m, node->from[1], slot) : NULL,
		.output = output_of(m, index, slot),
		.workspace = in_slot(m, &node->workspace, slot),
		.scratch = m->shared + node->scratch.at,
		.weight = values + node->weight,
		.bias = node->has_bias ? values + node->bias : NULL,
		.weight_gradient = gradients + node->weight,
		.bias_gradient = gives_bias(m, index) ? gradients + node->bias : NULL,
		.running_mean = buffers ? buffers + node->running_mean : NULL,
		.running_var = buffers ? buffers + node->running_var : NULL,
		.output_gradient = gradient_of(m, index, slot),
		.input_gradient = node_has_partial(node) ? in_shared(m, &node->partial)
							 : gradient_of(m, node->from[0], slot),
	};
}

void model_normalize_with(struct model *m, const struct batch_ranks *ranks)
{
	m->ranks = ranks;
}

/* The layer that a conversion is made for. */
static const char *name_of(const struct model *m, int node)
{
	while (m->nodes[node].layer < 0 && node < m->count - 1)
		node++;
	while (m->nodes[node].layer < 0)
		node--;
	return m->spec->layers[m->nodes[node].layer].name;
}

static void trace(const struct model *m, int node, const char *what)
{
	if (m->traced)
		m->traced(m->traced_argument, name_of(m, node), what);
}

static bool run(struct model *m, int node, op_run *call, const char *what, int slot,
		const struct model_pass *pass, struct train_error *error)
{
	struct op_args args = node_args(m, node, slot);

	if (pass) {
		args.control = pass->control;
		args.training = pass->training;
		args.ranks = pass->training ? m->ranks : NULL;
	}
	if (!call(m->nodes[node].op, &args, error))
		return false;
	trace(m, node, what);
	return true;
}

/* Whether the optimizer writes all that prepare makes. */
static bool has_copies(const struct op *op)
{
	return op->info.weight_copy.memory || op->info.bias_copy.memory;
}

bool model_prepare(struct model *m, bool updated, struct train_error *error)
{
	for (int i = 0; i < m->count; i++) {
		const struct op *op = m->nodes[i].op;

		if (op->calls->prepare && !(updated && has_copies(op)) &&
		    !run(m, i, op->calls->prepare, "prepare", 0, NULL, error))
			return false;
	}
	return true;
}

bool model_forward(struct model *m, int slot, const struct model_pass *pass,
		   struct train_error *error)
{
	for (int i = 0; i < m->count; i++) {
		const char *what = m->nodes[i].layer < 0 ? "convert" : "forward";

		if (!run(m, i, m->nodes[i].op->calls->forward, what, slot, pass, error))
			return false;
	}
	return true;
}

bool model_loss(struct model *m, int slot, const struct model_loss *loss, struct train_error *error)
{
	struct op_args args = {.input = model_output(m, slot),
			       .input_gradient = loss->gradient ? model_output_gradient(m) : NULL,
			       .labels = loss->labels,
			       .control = loss->control,
			       .scaler = loss->scaler,
			       .result = loss->result,
			       .overwrite = loss->overwrite};

	if (!m->loss->calls->forward(m->loss, &args, error))
		return false;
	trace(m, m->count - 1, "loss");
	return true;
}

static bool copy_gradient(struct model *m, int node, int to, int slot, struct train_error *error)
{
	if (!m->device->backend->copy(m->device, gradient_of(m, to, slot), m->device,
				      gradient_of(m, node, slot),
				      m->nodes[node].op->info.output.bytes, error))
		return false;
	trace(m, node, "copy gradient");
	return true;
}

/* Adds what a node gives: what it wrote to `partial`, or the gradient of an addition. */
static bool add_gradient(struct model *m, int node, int to, int slot, struct train_error *error)
{
	const struct node *from = &m->nodes[node];
	struct op *sum = to < 0 ? m->input_sum : m->nodes[to].sum;
	void *gradient = gradient_of(m, to, slot);
	const struct op_args args = {
		.input = gradient,
		.addend = node_has_partial(from) ? in_shared(m, &from->partial)
						 : gradient_of(m, node, slot),
		.output = gradient,
	};

	if (!sum->calls->forward(sum, &args, error))
		return false;
	trace(m, node, "add gradients");
	return true;
}

/* The gradients of a node's inputs. */
static bool backward_data(struct model *m, int index, int slot, const struct model_pass *pass,
			  struct train_error *error)
{
	const struct node *node = &m->nodes[index];
	const char *what = node->layer < 0 ? "convert back" : "backward data";

	if (node->op->calls->backward_data &&
	    !run(m, index, node->op->calls->backward_data, what, slot, pass, error))
		return false;
	for (int k = 0; k < node->inputs; k++) {
		if (node->gives[k] == GIVES_COPY &&
		    !copy_gradient(m, index, node->from[k], slot, error))
			return false;
		if (node->gives[k] == GIVES_SUM &&
		    !add_gradient(m, index, node->from[k], slot, error))
			return false;
	}
	return true;
}

static bool notify(const struct model_watch *watch,
		   bool (*call)(void *argument, int layer, struct train_error *error),
		   const struct node *node, struct train_error *error)
{
	return !call || !node->op->calls->backward_weights ||
	       call(watch->argument, node->layer, error);
}

bool model_backward(struct model *m, int slot, const struct pass_control *control,
		    const struct model_watch *watch, struct train_error *error)
{
	const struct model_pass pass = {control, true};

	for (int i = m->count - 1; i >= 0; i--) {
		const struct node *node = &m->nodes[i];
		const struct op_calls *calls = node->op->calls;

		if (calls->backward_weights &&
		    !run(m, i, calls->backward_weights, "backward weights", slot, &pass, error))
			return false;
		if (watch && !notify(watch, watch->ready, node, error))
			return false;
		if (node->backward_data && !backward_data(m, i, slot, &pass, error))
			return false;
		if (watch && !notify(watch, watch->done, node, error))
			return false;
	}
	return true;
}

void model_trace(struct model *m, void (*done)(void *argument, const char *layer, const char *what),
		 void *argument)
{
	m->traced = done;
	m->traced_argument = argument;
}

/* The operation with this parameter as weight; NULL for biases and dead layers, which have the
 * host's order. */
static struct op *weight_of(const struct model *m, int parameter)
{
	for (int i = 0; i < m->count; i++)
		if (m->nodes[i].layer >= 0 &&
		    m->shapes.layers[m->nodes[i].layer].parameters == parameter)
			return m->nodes[i].op;
	return NULL;
}

/* The operation that a parameter is the weight or the bias of; NULL if its layer is dead. */
static const struct op *op_of(const struct model *m, int parameter, bool *weight)
{
	int first = m->shapes.layers[m->shapes.parameters[parameter].layer].parameters;

	*weight = parameter == first;
	return weight_of(m, first);
}

struct value_rows model_copy(const struct model *m, int parameter)
{
	bool weight;
	const struct op *op = op_of(m, parameter, &weight);

	if (!op)
		return (struct value_rows){.memory = NULL};
	return weight ? op->info.weight_copy : op->info.bias_copy;
}

struct value_rows model_raw_gradient(const struct model *m, int parameter)
{
	bool weight;
	const struct op *op = op_of(m, parameter, &weight);

	return op && weight ? op->info.raw_gradient : (struct value_rows){.memory = NULL};
}

bool model_write_buffer(struct model *m, int buffer, const void *host, struct train_error *error)
{
	struct flat_place place = buffer_place(m, buffer);

	return m->device->backend->write(m->device, (unsigned char *)m->buffers + place.offset,
					 host, place.bytes, error);
}

bool model_read_buffer(struct model *m, int buffer, void *host, struct train_error *error)
{
	struct flat_place place = buffer_place(m, buffer);

	return m->device->backend->read(m->device, host, (unsigned char *)m->buffers + place.offset,
					place.bytes, error);
}

bool model_write(struct model *m, void *flat, int parameter, const void *host,
		 struct train_error *error)
{
	struct op *op = weight_of(m, parameter);
	struct flat_place place = parameter_place(m, parameter);
	void *to = (unsigned char *)flat + place.offset;

	if (op && op->calls->weight_write)
		return op->calls->weight_write(op, to, host, error);
	return m->device->backend->write(m->device, to, host, place.bytes, error);
}

bool model_read(struct model *m, const void *flat, int parameter, void *host,
		struct train_error *error)
{
	struct op *op = weight_of(m, parameter);
	struct flat_place place = parameter_place(m, parameter);
	const void *from = (const unsigned char *)flat + place.offset;

	if (op && op->calls->weight_read)
		return op->calls->weight_read(op, host, from, error);
	return m->device->backend->read(m->device, host, from, place.bytes, error);
}

void *model_input(const struct model *m, int slot)
{
	return in_slot(m, &m->input_at, slot);
}

void *model_output(const struct model *m, int slot)
{
	return in_slot(m, &m->nodes[m->count - 1].output, slot);
}

void *model_input_gradient(const struct model *m)
{
	return in_shared(m, &m->input_gradient);
}

void *model_output_gradient(const struct model *m)
{
	return in_shared(m, &m->nodes[m->count - 1].gradient);
}

size_t model_output_bytes(const struct model *m)
{
	return m->nodes[m->count - 1].op->info.output.bytes;
}
