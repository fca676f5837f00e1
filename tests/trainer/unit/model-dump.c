/* SPDX-License-Identifier: MIT */
/*
 * model-dump MODEL BACKEND BATCH SIZE STEPS PRECISION EXACT: a step with numbers from a formula,
 * for torch-model.py to compare, and STEPS more, of SGD. SIZE: of images, 0 the usual. PRECISION:
 * fp32 or bf16; EXACT: yes or no. Writes floats: logits, the mean loss, every parameter's gradient;
 * of a model that normalizes batches every buffer, and the logits of an evaluation; then the loss
 * of each of the STEPS.
 *
 * Number i of parameter p is f(i, p + 1) * 2 / sqrt(inputs of an output), of a batch normalization
 * 1 + f(i, p + 1) and f(i, p + 1), of the samples f(i, 100) * 2, with f of stage_number(); label i
 * is 3 i modulo the number of classes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "one-model.h"
#include "stage.h"

#define RATE 0.001f

struct dump {
	struct model *m;
	const struct model_spec *spec;
	enum value_type type; /* of activations; samples are floats */
	struct pass_control control;
	int32_t *labels;
	float *host; /* room for all parameters */
};

/* f(i, p + 1) * scale + shift */
static void find_scale(const struct model_shapes *shapes, int p, float *scale, float *shift)
{
	const struct layer_shape *at = &shapes->layers[shapes->parameters[p].layer];
	const struct model_parameter *weight = &shapes->parameters[at->parameters];

	*scale = at->buffers < 0
			 ? (float)(2.0 / sqrt((double)(weight->elements / weight->shape.size[0])))
			 : 1.0f;
	*shift = at->buffers >= 0 && p == at->parameters ? 1.0f : 0.0f;
}

static bool set_parameters(struct dump *d, struct train_error *error)
{
	const struct model_shapes *shapes = &d->m->shapes;

	for (int p = 0; p < shapes->parameters_count; p++) {
		float scale, shift;

		find_scale(shapes, p, &scale, &shift);
		for (int64_t i = 0; i < shapes->parameters[p].elements; i++)
			d->host[i] = (float)stage_number(i, (uint32_t)p + 1) * scale + shift;
		if (!model_write(d->m, d->m->values, p, d->host, error))
			return false;
	}
	for (int b = 0; b < shapes->buffers_count; b++) {
		for (int64_t i = 0; i < shapes->buffers[b].elements; i++)
			d->host[i] = (float)(b % 2); /* mean 0, variance 1 */
		if (!model_write_buffer(d->m, b, d->host, error))
			return false;
	}
	return model_prepare(d->m, false, error);
}

static void set_samples(const struct dump *d)
{
	float *input = model_input(d->m, 0);

	for (size_t i = 0; i < d->m->input.bytes / sizeof(*input); i++)
		input[i] = (float)stage_number((int64_t)i, 100) * 2.0f;
}

static void write_logits(const struct dump *d)
{
	size_t count = model_output_bytes(d->m) / value_bytes(d->type);

	for (size_t i = 0; i < count; i++) {
		float logit = (float)value_get(d->type, model_output(d->m, 0), (int64_t)i);

		fwrite(&logit, sizeof(logit), 1, stdout);
	}
}

/* Forward and backward. */
static bool pass(struct dump *d, float *mean, struct train_error *error)
{
	struct loss_result result = {0, 0};
	const struct model_pass how = {&d->control, true};
	const struct model_loss loss = {d->labels, &d->control, &result, true, NULL, false};

	set_samples(d);
	if (!model_forward(d->m, 0, &how, error) || !model_loss(d->m, 0, &loss, error))
		return false;
	*mean = (float)(result.loss / (double)d->control.rows);
	return true;
}

static bool write_pass(struct dump *d, struct train_error *error)
{
	const struct model_shapes *shapes = &d->m->shapes;
	float loss;

	if (!pass(d, &loss, error))
		return false;
	write_logits(d);
	fwrite(&loss, sizeof(loss), 1, stdout);
	if (!model_backward(d->m, 0, &d->control, NULL, error))
		return false;
	for (int p = 0; p < shapes->parameters_count; p++) {
		if (!model_read(d->m, d->m->gradients, p, d->host, error))
			return false;
		fwrite(d->host, sizeof(*d->host), (size_t)shapes->parameters[p].elements, stdout);
	}
	return true;
}

static bool write_evaluation(struct dump *d, struct train_error *error)
{
	const struct model_shapes *shapes = &d->m->shapes;
	const struct model_pass how = {&d->control, false};

	for (int b = 0; b < shapes->buffers_count; b++) {
		if (!model_read_buffer(d->m, b, d->host, error))
			return false;
		fwrite(d->host, sizeof(*d->host), (size_t)shapes->buffers[b].elements, stdout);
	}
	set_samples(d);
	if (shapes->buffers_count > 0 && !model_forward(d->m, 0, &how, error))
		return false;
	if (shapes->buffers_count > 0)
		write_logits(d);
	return true;
}

/* SGD with the gradients of the last pass, then another pass. */
static bool write_step(struct dump *d, struct train_error *error)
{
	int64_t count = d->m->elements;
	const float *gradients = d->m->gradients;
	float loss, *values = d->m->values;

	for (int64_t i = 0; i < count; i++)
		values[i] -= RATE * gradients[i];
	if (!model_prepare(d->m, false, error) || !pass(d, &loss, error) ||
	    !model_backward(d->m, 0, &d->control, NULL, error))
		return false;
	fwrite(&loss, sizeof(loss), 1, stdout);
	return true;
}

static bool use(struct model *m, const struct model_spec *spec, const struct model_options *options,
		char **argv, struct train_error *error)
{
	int64_t batch = options->batch;
	struct dump d = {
		.m = m,
		.spec = spec,
		.type = options->type,
		.control = {0, (int32_t)batch, 1.0f / (float)batch},
		.labels = malloc((size_t)batch * sizeof(*d.labels)),
		.host = malloc((size_t)m->shapes.elements * sizeof(*d.host)),
	};
	long steps = strtol(argv[5], NULL, 10);
	bool done = d.labels && d.host;

	for (int64_t i = 0; done && i < batch; i++)
		d.labels[i] = (int32_t)(3 * i % spec->layers[spec->count - 1].out);
	done = done && set_parameters(&d, error) && write_pass(&d, error) &&
	       write_evaluation(&d, error);
	for (long step = 0; done && step < steps; step++)
		done = write_step(&d, error);
	free(d.labels);
	free(d.host);
	return done;
}

int main(int argc, char **argv)
{
	static const struct one_model program = {
		.usage = "model-dump MODEL BACKEND BATCH SIZE STEPS PRECISION EXACT",
		.arguments = 7,
		.batch = 3,
		.size = 4,
		.precision = 6,
		.exact = 7,
		.use = use,
	};

	return one_model_main(&program, argc, argv);
}
