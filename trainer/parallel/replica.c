/* SPDX-License-Identifier: MIT */
#include "parallel/rank.h"

#include <stdio.h>
#include <stdlib.h>

#include "run/cores.h"

static bool open_device(struct replica *r, const struct replica_options *how,
			struct train_error *error)
{
	const struct settings *settings = r->options->settings;
	struct device_options options = {.physical = how->place->physical,
					 .exact = settings->exact};
	struct cores cores;

	cores_share(&cores, &r->options->cpus, how->index, how->sharing, rank_processes(r->options),
		    settings->threads);
	options.threads = cores.threads;
	options.cpus = cores.own ? &cores.cpus : NULL;
	return r->options->backend->open(&r->device, &options, error);
}

static bool open_optimizer(struct replica *r, struct train_error *error)
{
	const struct model_shapes *shapes = model_shapes_of(r->model);
	struct optimize_parameter parameters[2 * MODEL_MOST_LAYERS];
	struct optimize_options options = {
		.settings = r->options->settings->optimizer,
		.values = model_values(r->model),
		.gradients = model_gradients(r->model),
		.parameters = parameters,
		.count = r->parameters,
	};
	int64_t first;

	model_elements(r->model, &first);
	for (int i = 0; i < r->parameters; i++) {
		const struct model_parameter *p = &shapes->parameters[r->first_parameter + i];

		parameters[i] = (struct optimize_parameter){p->name, p->offset - first, p->elements,
							    shapes->layers[p->layer].live};
	}
	return r->device->backend->optimize_new(&r->optimize, r->device, &options, error);
}

static void find_parameters(struct replica *r, const struct replica_options *how)
{
	const struct model_shapes *shapes = model_shapes_of(r->model);

	for (int i = 0; i < shapes->parameters_count; i++) {
		int layer = shapes->parameters[i].layer;

		if (layer < how->first || layer > how->last)
			continue;
		if (r->parameters++ == 0)
			r->first_parameter = i;
	}
}

static bool open_memory(struct replica *r, const struct replica_options *how,
			struct train_error *error)
{
	const struct backend *backend = r->device->backend;
	int64_t first, elements = model_elements(r->model, &first);

	if (how->several) {
		r->sum = backend->allocate(r->device, (size_t)elements * sizeof(*r->sum) + 1,
					   "the sum of gradients", error);
		if (!r->sum)
			return false;
	}
	if (!model_labels(r->model, 0)) {
		r->labels = backend->allocate(r->device, (size_t)r->rows * sizeof(*r->labels),
					      "labels", error);
		if (!r->labels)
			return false;
	}
	if (how->first > 0) {
		r->host_labels = malloc((size_t)r->rows * sizeof(*r->host_labels));
		return r->host_labels || train_nomem(error, "labels");
	}
	return backend->data_open(&r->train, r->device, r->options->train, error) &&
	       backend->data_open(&r->test, r->device, r->options->test, error);
}

bool replica_open(struct replica *r, const struct parallel_options *options,
		  const struct replica_options *how, struct train_error *error)
{
	struct model_options model = {.batch = how->rows,
				      .slots = how->slots,
				      .type = options->precision,
				      .first = how->first,
				      .last = how->last};

	*r = (struct replica){.options = options, .rows = how->rows, .slots = how->slots};
	if (!open_device(r, how, error))
		return false;
	if (!model_open(&r->model, options->spec, r->device, &model, error))
		goto fail;
	find_parameters(r, how);
	if (!open_memory(r, how, error) || (how->learns && !open_optimizer(r, error)))
		goto fail;
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
	free(r->host_labels);
	backend->release(r->device, r->labels);
	backend->release(r->device, r->sum);
	if (r->model)
		model_close(r->model);
	backend->close(r->device);
	*r = (struct replica){.rows = 0};
}

static bool fill_images(struct replica *r, int slot, const struct replica_rows *rows,
			struct train_error *error)
{
	int32_t *labels = model_labels(r->model, slot);
	struct batch_options options = {
		.height = r->options->spec->height,
		.width = r->options->spec->width,
		.augment = r->options->settings->augment && !rows->test,
		.seed = r->options->settings->seed,
	};

	return r->device->backend->data_fill(
		rows->test ? r->test : r->train, &options, model_input(r->model, slot),
		labels ? labels : r->labels, rows->epoch, rows->indices, rows->count, error);
}

static bool fill_labels(struct replica *r, int slot, const struct replica_rows *rows,
			struct train_error *error)
{
	const struct dataset *data = rows->test ? r->options->test : r->options->train;
	size_t record = dataset_record(&data->shape);

	for (int64_t i = 0; i < rows->count; i++)
		r->host_labels[i] = data->records[(size_t)rows->indices[i] * record];
	return r->device->backend->write(r->device, model_labels(r->model, slot), r->host_labels,
					 (size_t)rows->count * sizeof(*r->host_labels), error);
}

bool replica_fill(struct replica *r, int slot, const struct replica_rows *rows,
		  struct train_error *error)
{
	const struct loss_control control = {(int32_t)rows->count,
					     rows->scale / (float)rows->of_all};
	int64_t begin = timeline_now();

	if (r->train && !fill_images(r, slot, rows, error))
		return false;
	if (r->host_labels && model_labels(r->model, slot) && !fill_labels(r, slot, rows, error))
		return false;
	if (model_control(r->model, slot) &&
	    !r->device->backend->write(r->device, model_control(r->model, slot), &control,
				       sizeof(control), error))
		return false;
	timeline_add(r->timeline, "load", begin);
	return true;
}

static void traced(void *argument, const char *layer, const char *what)
{
	struct replica *r = argument;
	char name[TIMELINE_NAME];

	snprintf(name, sizeof(name), "%s %s", layer, what);
	timeline_add(r->timeline, name, r->traced_ns);
	r->traced_ns = timeline_now();
}

void replica_trace(struct replica *r, struct timeline *timeline)
{
	r->timeline = timeline;
	model_trace(r->model, timeline ? traced : NULL, r);
}

bool replica_forward(struct replica *r, int slot, struct train_error *error)
{
	r->traced_ns = timeline_now();
	return model_forward(r->model, slot, error);
}

bool replica_loss(struct replica *r, int slot, bool gradient, struct train_error *error)
{
	r->traced_ns = timeline_now();
	return model_loss(r->model, slot, gradient, error);
}

bool replica_begin(struct replica *r, struct train_error *error)
{
	for (int slot = 0; slot < r->slots && model_result(r->model, slot); slot++)
		if (!r->device->backend->zero(r->device, model_result(r->model, slot),
					      sizeof(struct loss_result), error))
			return false;
	return true;
}

bool replica_result(struct replica *r, struct step_output *output, struct train_error *error)
{
	for (int slot = 0; slot < r->slots && model_result(r->model, slot); slot++) {
		struct loss_result result;

		if (!r->device->backend->read(r->device, &result, model_result(r->model, slot),
					      sizeof(result), error))
			return false;
		output->loss += result.loss;
		output->correct += result.correct;
	}
	return true;
}

/* The elements of a layer's parameters in the flat buffers. */
static int64_t layer_elements(const struct replica *r, int layer, int64_t *first)
{
	const struct model_shapes *shapes = model_shapes_of(r->model);
	const struct model_parameter *weight =
		&shapes->parameters[shapes->layers[layer].parameters];
	int64_t stage;

	model_elements(r->model, &stage);
	*first = weight->offset - stage;
	return weight[0].elements + weight[1].elements;
}

/* What a layer does in the pass that its gradients are ready in. */
struct summing {
	struct replica *replica;
	int64_t pass, passes;
	const struct model_watch *ready;
};

static bool sum_layer(void *argument, int layer, struct train_error *error)
{
	const struct summing *s = argument;
	struct replica *r = s->replica;
	const struct backend *backend = r->device->backend;
	int64_t first, count = layer_elements(r, layer, &first);
	float *gradients = (float *)model_gradients(r->model) + first;

	if (s->pass == 0 && s->passes > 1)
		return backend->copy(r->device, r->sum + first, r->device, gradients,
				     (size_t)count * sizeof(*gradients), error);
	if (s->pass < s->passes - 1)
		return backend->add(r->device, r->sum + first, gradients, count, error);
	if (s->passes > 1 && !backend->add(r->device, gradients, r->sum + first, count, error))
		return false;
	return !s->ready || s->ready->ready(s->ready->argument, layer, error);
}

bool replica_backward(struct replica *r, int slot, int64_t pass, int64_t passes,
		      const struct model_watch *ready, struct train_error *error)
{
	struct summing summing = {r, pass, passes, ready};
	const struct model_watch watch = {sum_layer, &summing};

	r->traced_ns = timeline_now();
	return model_backward(r->model, slot, passes > 1 ? &watch : ready, error);
}

int64_t replica_pass_count(const struct replica *r, int64_t count)
{
	return count > r->rows ? (count + r->rows - 1) / r->rows : 1;
}

struct replica_rows replica_pass_rows(const struct replica *r, const struct step_input *input,
				      int64_t pass, bool test)
{
	int64_t first = pass * r->rows, left = input->count - first;

	return (struct replica_rows){
		.test = test,
		.epoch = input->epoch,
		.indices = input->indices + first,
		.count = left < r->rows ? left : r->rows,
		.of_all = input->of_all,
		.scale = input->scale,
	};
}

bool replica_passes(struct replica *r, const struct step_input *input,
		    const struct model_watch *ready, struct train_error *error)
{
	int64_t passes = replica_pass_count(r, input->count);

	if (!replica_begin(r, error))
		return false;
	for (int64_t pass = 0; pass < passes; pass++) {
		struct replica_rows rows = replica_pass_rows(r, input, pass, false);

		if (!replica_fill(r, 0, &rows, error) || !replica_forward(r, 0, error) ||
		    !replica_loss(r, 0, true, error) ||
		    !replica_backward(r, 0, pass, passes, ready, error))
			return false;
	}
	return true;
}

bool replica_evaluate(struct replica *r, const struct step_input *input, struct step_output *output,
		      struct train_error *error)
{
	int64_t passes = replica_pass_count(r, input->count);

	if (!replica_begin(r, error))
		return false;
	for (int64_t pass = 0; pass < passes; pass++) {
		struct replica_rows rows = replica_pass_rows(r, input, pass, true);

		if (!replica_fill(r, 0, &rows, error) || !replica_forward(r, 0, error) ||
		    !replica_loss(r, 0, false, error))
			return false;
	}
	return replica_result(r, output, error);
}
