/* SPDX-License-Identifier: MIT */
/* See replica.h. */
#include "parallel/rank.h"

#include <stdio.h>
#include <string.h>

#include "place/cores.h"

int replica_processes(const struct parallel_options *options)
{
	const struct place *place = options->place;

	return place->local_world > place->ranks ? place->local_world / place->ranks : 1;
}

static bool open_device(struct replica *r, const struct replica_options *how,
			struct train_error *error)
{
	const struct settings *settings = r->options->settings;
	struct device_options options = {.physical = how->place->physical,
					 .logical = how->place->logical,
					 .uuid = how->place->uuid,
					 .exact = settings->exact,
					 .deterministic = settings->deterministic};
	struct cores cores;

	cores_share(&cores, &r->options->cpus, how->index, how->sharing,
		    replica_processes(r->options), settings->threads);
	options.threads = cores.threads;
	options.cpus = cores.own ? &cores.cpus : NULL;
	return r->options->backend->open(&r->device, &options, error);
}

static bool open_optimizer(struct replica *r, struct train_error *error)
{
	const struct model_shapes *shapes = &r->model->shapes;
	struct optimize_parameter parameters[MODEL_MAX_PARAMETERS];
	struct optimize_options options = {
		.settings = r->options->settings->optimizer,
		.values = r->model->values,
		.gradients = r->model->gradients,
		.parameters = parameters,
		.count = r->parameters,
		.scaler = r->scaler,
		.before = r->first_parameter,
		.after = shapes->parameters_count - r->first_parameter - r->parameters,
	};

	for (int i = 0; i < r->parameters; i++) {
		const struct model_parameter *p = &shapes->parameters[r->first_parameter + i];

		parameters[i] = (struct optimize_parameter){
			.name = p->name,
			.offset = p->offset - r->model->first_element,
			.elements = p->elements,
			.used = shapes->layers[p->layer].live,
			.copy = model_copy(r->model, r->first_parameter + i),
			.gradient = model_raw_gradient(r->model, r->first_parameter + i),
			.early = r->early_layer >= 0 && p->layer >= r->early_layer,
		};
	}
	return r->device->backend->optimize_new(&r->optimize, r->device, &options, error);
}

static void find_parameters(struct replica *r, const struct replica_options *how)
{
	const struct model_shapes *shapes = &r->model->shapes;

	for (int i = 0; i < shapes->parameters_count; i++) {
		int layer = shapes->parameters[i].layer;

		if (layer < how->first || layer > how->last)
			continue;
		if (r->parameters++ == 0)
			r->first_parameter = i;
	}
}

/* Early are the parameters of the first layers of backward that have at least half of all. There
 * must be others, whose backward their update runs beside. */
static int find_early_layer(const struct model_shapes *shapes)
{
	int64_t elements = 0;
	int layer = 0;

	for (int i = shapes->parameters_count - 1; i >= 0 && 2 * elements < shapes->elements; i--) {
		layer = shapes->parameters[i].layer;
		elements += shapes->parameters[i].elements;
	}
	for (int i = 0; i < layer; i++)
		if (shapes->layers[i].live && shapes->layers[i].parameters >= 0)
			return shapes->layers[layer].live ? layer : -1;
	return -1;
}

/* Gradients in float16 have a loss scale. So have those of a burn test, since an update whose
 * gradients are not finite is skipped then: from one bad device they would reach the weights of
 * all. */
static bool scales(const struct parallel_options *options, const struct replica_options *how)
{
	return how->learns &&
	       (options->settings->precision == VALUE_FLOAT16 || options->settings->burn_ms > 0);
}

static bool measures(const struct parallel_options *options, const struct replica_options *how)
{
	return options->settings->clip_norm > 0 || scales(options, how);
}

static bool open_memory(struct replica *r, const struct replica_options *how,
			struct train_error *error)
{
	const struct backend *backend = r->device->backend;
	const struct inputs inputs = {.device = r->device,
				      .passes = how->passes,
				      .rows = how->rows,
				      .labels = how->first > 0 && r->has_loss};

	r->all_results =
		backend->allocate_zeros(r->device, 2 * sizeof(*r->all_results), "results", error);
	if (!r->all_results || !inputs_open(&r->inputs, &inputs, error))
		return false;
	if (scales(r->options, how)) {
		r->scaler =
			backend->allocate(r->device, sizeof(*r->scaler), "the loss scale", error);
		if (!r->scaler)
			return false;
	}
	if (how->passes > 1) {
		r->sum = backend->allocate(r->device,
					   (size_t)r->model->elements * sizeof(*r->sum) + 1,
					   "the sum of gradients", error);
		if (!r->sum)
			return false;
	}
	if (how->first > 0)
		return true;
	return backend->data_open(&r->train, r->device, r->options->train, error) &&
	       backend->data_open(&r->test, r->device, r->options->test, error);
}

/* Whether no one but the optimizer reads the gradients; a burn test compares them. */
static bool only_optimizer_reads(const struct parallel_options *options,
				 const struct replica_options *how)
{
	return how->learns && how->alone && how->passes == 1 && !measures(options, how) &&
	       options->settings->burn_ms == 0;
}

/* The ranks that normalize batches as one, or 0. */
static int normalizes_with(const struct parallel_options *options)
{
	return options->settings->sync_batch_norm && options->world > 1 ? options->world : 0;
}

bool replica_open(struct replica *r, const struct parallel_options *options,
		  const struct replica_options *how, struct train_error *error)
{
	struct model_options model = {.batch = how->rows,
				      .slots = how->slots,
				      .type = options->precision,
				      .first = how->first,
				      .last = how->last,
				      .raw_gradients = only_optimizer_reads(options, how),
				      .ranks = normalizes_with(options)};

	*r = (struct replica){.options = options,
			      .rows = how->rows,
			      .early_layer = -1,
			      .has_loss = how->last == options->spec->count - 1};
	if (!open_device(r, how, error))
		return false;
	if (!model_open(&r->model, options->spec, r->device, &model, error))
		goto fail;
	find_parameters(r, how);
	if (how->alone && !measures(options, how))
		r->early_layer = find_early_layer(&r->model->shapes);
	if (!open_memory(r, how, error) || (how->learns && !open_optimizer(r, error)))
		goto fail;
	/* Ranks look after each other. */
	if (options->settings->burn_ms > 0 && options->world == 1)
		replica_watch(r, options->place->count == 1);
	return true;
fail:
	replica_close(r);
	return false;
}

void replica_close(struct replica *r)
{
	const struct backend *backend = r->device ? r->device->backend : NULL;

	if (!backend)
		return;
	if (r->optimize)
		backend->optimize_free(r->optimize);
	if (r->train)
		backend->data_close(r->train);
	if (r->test)
		backend->data_close(r->test);
	inputs_close(&r->inputs);
	backend->release(r->device, r->all_results);
	backend->release(r->device, r->sum);
	backend->release(r->device, r->scaler);
	if (r->model)
		model_close(r->model);
	backend->close(r->device);
	*r = (struct replica){.rows = 0};
}

void replica_set_rows(struct replica *r, int64_t pass, const struct replica_rows *rows)
{
	const struct dataset *data = rows->test ? r->options->test : r->options->train;
	struct inputs_pass to = inputs_host(&r->inputs, pass);

	*to.control =
		(struct pass_control){rows->epoch, (int32_t)rows->count, 1 / (float)rows->of_all};
	r->batches_tracked += !rows->test && rows->count > 0;
	memcpy(to.indices, rows->indices, (size_t)rows->count * sizeof(*to.indices));
	for (int64_t i = 0; r->inputs.labels && i < rows->count; i++)
		to.labels[i] =
			data->records[(size_t)rows->indices[i] * dataset_record(&data->shape)];
}

bool replica_begin(struct replica *r, const struct step_input *input, struct train_error *error)
{
	const struct settings *settings = r->options->settings;

	*inputs_update_host(&r->inputs) = (struct update_control){
		.lr = input->rates.lr,
		.momentum = input->rates.momentum,
		.clip_norm = settings->clip_norm,
	};
	return inputs_send(&r->inputs, error);
}

bool replica_begin_all(struct replica *r, const struct step_input *input, bool test,
		       struct train_error *error)
{
	int64_t passes = replica_pass_count(r, input);

	for (int64_t pass = 0; pass < passes; pass++) {
		struct replica_rows rows = replica_pass_rows(r, input, pass, test);

		replica_set_rows(r, pass, &rows);
	}
	return replica_begin(r, input, error);
}

bool replica_fill(struct replica *r, int slot, int64_t pass, bool test, struct train_error *error)
{
	const struct inputs_pass from = inputs_device(&r->inputs, pass);
	const struct batch_options options = {
		.height = r->options->spec->height,
		.width = r->options->spec->width,
		.augment = r->options->settings->augment && !test,
		.seed = r->options->settings->seed,
	};
	const struct data_batch batch = {
		.options = &options,
		.rows = r->rows,
		.control = from.control,
		.indices = from.indices,
		.layout = &r->model->input,
		.images = model_input(r->model, slot),
		.labels = from.labels,
	};
	int64_t begin = timeline_begin(r->timeline);

	if (!r->train)
		return true;
	if (!r->device->backend->data_fill(test ? r->test : r->train, &batch, error))
		return false;
	timeline_add(r->timeline, "load", begin);
	return true;
}

int64_t replica_mark(void *argument)
{
	struct device *device = argument;

	return device->backend->mark(device);
}

int64_t replica_mark_ns(void *argument, int64_t mark)
{
	struct device *device = argument;

	return device->backend->mark_ns(device, mark);
}

static void traced(void *argument, const char *layer, const char *what)
{
	struct replica *r = argument;
	char name[TIMELINE_NAME];

	snprintf(name, sizeof(name), "%s %s", layer, what);
	timeline_add(r->timeline, name, r->traced_at);
	r->traced_at = timeline_begin(r->timeline);
}

void replica_trace(struct replica *r, struct timeline *timeline)
{
	const struct backend *backend = r->device->backend;

	r->timeline = timeline;
	if (backend->mark)
		timeline_clock(timeline,
			       &(struct timeline_clock){replica_mark, replica_mark_ns, r->device});
	model_trace(r->model, timeline ? traced : NULL, r);
}

bool replica_forward(struct replica *r, int slot, int64_t pass, bool test,
		     struct train_error *error)
{
	const struct model_pass how = {inputs_device(&r->inputs, pass).control, !test};

	r->traced_at = timeline_begin(r->timeline);
	return model_forward(r->model, slot, &how, error);
}

bool replica_loss(struct replica *r, int slot, int64_t pass, bool gradient,
		  struct train_error *error)
{
	const struct inputs_pass from = inputs_device(&r->inputs, pass);
	const struct model_loss loss = {
		.labels = from.labels,
		.control = from.control,
		.result = &replica_results(r)->loss,
		.gradient = gradient,
		.scaler = r->scaler,
		.overwrite = pass == 0,
	};

	r->traced_at = timeline_begin(r->timeline);
	return model_loss(r->model, slot, &loss, error);
}

/* The elements of a layer's parameters in the flat buffers. */
static int64_t layer_elements(const struct replica *r, int layer, int64_t *first)
{
	const struct model_shapes *shapes = &r->model->shapes;
	const struct layer_shape *at = &shapes->layers[layer];
	const struct model_parameter *weight = &shapes->parameters[at->parameters];
	const struct model_parameter *last = weight + at->parameter_count - 1;

	*first = weight->offset - r->model->first_element;
	return last->offset + last->elements - weight->offset;
}

/* Reports a layer in the pass in which its gradients are ready. */
struct summing {
	struct replica *replica;
	int64_t pass, passes;
	const struct model_watch *watch;
};

static bool sum_layer(void *argument, int layer, struct train_error *error)
{
	const struct summing *s = argument;
	struct replica *r = s->replica;
	const struct backend *backend = r->device->backend;
	int64_t first, count = layer_elements(r, layer, &first);
	float *gradients = (float *)r->model->gradients + first;

	if (s->pass == 0 && s->passes > 1)
		return backend->copy(r->device, r->sum + first, r->device, gradients,
				     (size_t)count * sizeof(*gradients), error);
	if (s->pass < s->passes - 1)
		return backend->add(r->device, r->sum + first, gradients, count, error);
	if (s->passes > 1 && !backend->add(r->device, gradients, r->sum + first, count, error))
		return false;
	return !s->watch || !s->watch->ready || s->watch->ready(s->watch->argument, layer, error);
}

static bool layer_done(void *argument, int layer, struct train_error *error)
{
	const struct summing *s = argument;

	return s->pass < s->passes - 1 || !s->watch || !s->watch->done ||
	       s->watch->done(s->watch->argument, layer, error);
}

bool replica_backward(struct replica *r, int slot, int64_t pass, int64_t passes,
		      const struct model_watch *watch, struct train_error *error)
{
	struct summing summing = {r, pass, passes, watch};
	const struct model_watch sums = {sum_layer, layer_done, &summing};

	r->traced_at = timeline_begin(r->timeline);
	return model_backward(r->model, slot, inputs_device(&r->inputs, pass).control,
			      passes > 1 ? &sums : watch, error);
}

int64_t replica_pass_count(const struct replica *r, const struct step_input *input)
{
	int64_t count = input->count, world = r->options->world;
	int64_t most = (input->of_all + world - 1) / world;

	if (r->options->settings->sync_batch_norm && most > count)
		count = most;
	return count > r->rows ? (count + r->rows - 1) / r->rows : 1;
}

struct replica_rows replica_pass_rows(const struct replica *r, const struct step_input *input,
				      int64_t pass, bool test)
{
	int64_t first = pass * r->rows < input->count ? pass * r->rows : input->count;
	int64_t left = input->count - first;

	return (struct replica_rows){
		.test = test,
		.epoch = input->epoch,
		.indices = input->indices + first,
		.count = left < r->rows ? left : r->rows,
		.of_all = input->of_all,
	};
}

bool replica_passes(struct replica *r, int64_t passes, const struct model_watch *watch,
		    struct train_error *error)
{
	for (int64_t pass = 0; pass < passes; pass++)
		if (!replica_fill(r, 0, pass, false, error) ||
		    !replica_forward(r, 0, pass, false, error) ||
		    !replica_loss(r, 0, pass, true, error) ||
		    !replica_backward(r, 0, pass, passes, watch, error))
			return false;
	return true;
}

bool replica_evaluate(struct replica *r, int64_t passes, struct train_error *error)
{
	for (int64_t pass = 0; pass < passes; pass++)
		if (!replica_fill(r, 0, pass, true, error) ||
		    !replica_forward(r, 0, pass, true, error) ||
		    !replica_loss(r, 0, pass, false, error))
			return false;
	return true;
}

struct step_graph *replica_graph(const struct replica *r, graph_issue *issue, void *argument)
{
	const struct step_graph_options options = {
		.device = r->device, .issue = issue, .argument = argument, .turn = &r->inputs.turn};

	return step_graph_open(&options);
}
