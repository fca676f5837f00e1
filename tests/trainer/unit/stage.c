/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
	struct model *model;
	const struct stage_setting *setting;
	struct stage_result *result;
	int64_t moved;
	double by;
	struct train_error *error;
};

static double number(const struct run *run, int64_t index, uint32_t seed, int64_t place)
{
	return stage_number(index, seed) + (place == run->moved ? run->by : 0.0);
}

static void set_parameters(const struct run *run)
{
	const struct model_shapes *shapes = &run->model->shapes;
	enum value_type type = value_of_parameters(run->setting->type);
	int64_t first = run->model->first_element, count = run->model->elements;
	double *host = malloc((size_t)count * sizeof(*host));

	ck_assert_ptr_nonnull(host);
	for (int p = 0; p < shapes->parameters_count; p++) {
		const struct model_parameter *at = &shapes->parameters[p];

		if (at->offset < first || at->offset >= first + count)
			continue;
		for (int64_t i = 0; i < at->elements; i++) {
			int64_t index = at->offset - first + i;

			value_set(type, host, i,
				  number(run, index, 1, run->result->inputs + index));
		}
		ck_assert(model_write(run->model, run->model->values, p, host, run->error));
	}
	free(host);
}

static void get_gradients(const struct run *run)
{
	const struct model_shapes *shapes = &run->model->shapes;
	enum value_type type = value_of_parameters(run->setting->type);
	int64_t first = run->model->first_element, count = run->model->elements;
	double *host = malloc((size_t)count * sizeof(*host) + 1);

	for (int p = 0; p < shapes->parameters_count; p++) {
		const struct model_parameter *at = &shapes->parameters[p];

		if (at->offset < first || at->offset >= first + count)
			continue;
		ck_assert(model_read(run->model, run->model->gradients, p, host, run->error));
		for (int64_t i = 0; i < at->elements; i++)
			run->result->gradients[at->offset - first + i] = value_get(type, host, i);
	}
	free(host);
}

static void fill(const struct run *run, void *to, size_t bytes, uint32_t seed)
{
	enum value_type type = run->setting->type;
	int64_t count = (int64_t)(bytes / value_bytes(type));
	void *host = malloc(bytes);

	ck_assert_ptr_nonnull(host);
	for (int64_t i = 0; i < count; i++)
		value_set(type, host, i, number(run, i, seed, seed == 2 ? i : -2));
	ck_assert(run->setting->backend->write(run->model->device, to, host, bytes, run->error));
	free(host);
}

static double *fetch(const struct run *run, const void *from, size_t bytes)
{
	enum value_type type = run->setting->type;
	int64_t count = (int64_t)(bytes / value_bytes(type));
	double *values = malloc((size_t)count * sizeof(*values));
	void *host = malloc(bytes);

	ck_assert(host && values);
	ck_assert(run->setting->backend->read(run->model->device, host, from, bytes, run->error));
	for (int64_t i = 0; i < count; i++)
		values[i] = value_get(type, host, i);
	free(host);
	return values;
}

static void poison_bytes(const struct run *run, void *to, size_t bytes)
{
	void *host = malloc(bytes);

	ck_assert_ptr_nonnull(host);
	memset(host, 0xff, bytes);
	ck_assert(run->setting->backend->write(run->model->device, to, host, bytes, run->error));
	free(host);
}

/* NaN wherever something must be written. */
static void poison(const struct run *run)
{
	const struct model_shapes *shapes = &run->model->shapes;
	size_t each = value_bytes(value_of_parameters(run->setting->type));
	int64_t first = run->model->first_element, count = run->model->elements;

	for (int p = 0; p < shapes->parameters_count; p++) {
		const struct model_parameter *at = &shapes->parameters[p];

		if (shapes->layers[at->layer].live && at->offset >= first &&
		    at->offset < first + count)
			poison_bytes(run,
				     (unsigned char *)run->model->gradients +
					     (size_t)(at->offset - first) * each,
				     (size_t)at->elements * each);
	}
	poison_bytes(run, model_output(run->model, 0), model_output_bytes(run->model));
}

/* All rows count. */
static struct pass_control *put_control(const struct run *run, int rows)
{
	const struct pass_control control = {0, rows, 1.0f};
	struct device *device = run->model->device;
	struct pass_control *put =
		run->setting->backend->allocate(device, sizeof(control), "control", run->error);

	ck_assert(put &&
		  run->setting->backend->write(device, put, &control, sizeof(control), run->error));
	return put;
}

static void passes(const struct run *run, int rows)
{
	struct model *m = run->model;
	struct device *device = m->device;
	struct pass_control *control = put_control(run, rows);
	size_t bytes, peak;

	set_parameters(run);
	poison(run);
	bytes = device->bytes;
	peak = device->peak_bytes;
	fill(run, model_input(m, 0), m->input.bytes, 2);
	ck_assert(model_prepare(m, false, run->error));
	ck_assert(model_forward(m, 0, &(struct model_pass){control, true}, run->error));
	run->result->output = fetch(run, model_output(m, 0), model_output_bytes(m));
	fill(run, model_output_gradient(m), model_output_bytes(m), 3);
	ck_assert_msg(model_backward(m, 0, control, NULL, run->error), "%s", run->error->text);
	run->result->input_gradient = fetch(run, model_input_gradient(m), m->input.bytes);
	ck_assert_msg(device->bytes == bytes && device->peak_bytes == peak,
		      "a pass allocates memory");
	get_gradients(run);
	device->backend->release(device, control);
}

static bool open_and_run(struct run *run, const struct stage_case *c, struct device *device)
{
	struct layer layers[STAGE_LAYERS + 2] = {
		{.name = "before", .kind = LAYER_MAX_POOL, .kernel = 1}};
	struct model_spec spec = {c->name, c->channels, c->height, c->width, c->count + 2, layers};
	struct model_options options = {c->batch, 1, run->setting->type, 1, c->count, false, 0};

	memcpy(layers + 1, c->layers, sizeof(c->layers));
	layers[c->count + 1] = (struct layer){.name = "after", .kind = LAYER_LINEAR, .out = 1};
	if (!model_open(&run->model, &spec, device, &options, run->error))
		return false;
	*run->result = (struct stage_result){
		.inputs = (int64_t)(run->model->input.bytes / value_bytes(options.type)),
		.outputs = (int64_t)(model_output_bytes(run->model) / value_bytes(options.type)),
		.parameters = run->model->elements,
	};
	run->result->gradients = malloc((size_t)run->result->parameters * sizeof(double) + 1);
	ck_assert_ptr_nonnull(run->result->gradients);
	passes(run, (int)options.batch);
	model_close(run->model);
	return true;
}

void (*stage_opened)(struct device *device), (*stage_closing)(struct device *device);

bool stage_run(struct stage_result *result, const struct stage_case *c,
	       const struct stage_setting *setting, int64_t moved, double by,
	       struct train_error *error)
{
	struct device_options options = {.threads = setting->threads, .exact = setting->exact};
	struct run run = {NULL, setting, result, moved, by, error};
	struct device *device;
	bool done;

	if (!setting->backend->open(&device, &options, error))
		return false;
	if (stage_opened)
		stage_opened(device);
	done = open_and_run(&run, c, device);
	ck_assert_msg(device->bytes == device->shared_bytes, "%s: %zu bytes are left", c->name,
		      device->bytes);
	if (stage_closing)
		stage_closing(device);
	setting->backend->close(device);
	return done;
}

void stage_free(struct stage_result *result)
{
	free(result->output);
	free(result->input_gradient);
	free(result->gradients);
}
