/* SPDX-License-Identifier: MIT */
/*
 * model-dump MODEL BACKEND BATCH: one step with numbers from a formula, for torch-model.py to
 * compare. Writes floats: logits, the mean loss, then every parameter's gradient.
 *
 * Number i of parameter p is f(i, p + 1) * 2 / sqrt(inputs of an output), of the samples
 * f(i, 100) * 2, with f of stage_number(); label i is 3 i modulo the number of classes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "one-model.h"
#include "stage.h"

static bool set_parameters(struct model *m, struct train_error *error)
{
	const struct model_shapes *shapes = model_shapes_of(m);
	float *host = malloc((size_t)shapes->elements * sizeof(*host));
	bool done = host != NULL;

	for (int p = 0; done && p < shapes->parameters_count; p++) {
		const struct model_parameter *weight =
			&shapes->parameters[shapes->layers[shapes->parameters[p].layer].parameters];
		int64_t inputs = weight->elements / weight->shape.size[0];
		float scale = (float)(2.0 / sqrt((double)inputs));

		for (int64_t i = 0; i < shapes->parameters[p].elements; i++)
			host[i] = (float)stage_number(i, (uint32_t)p + 1) * scale;
		done = model_write(m, model_values(m), p, host, error);
	}
	free(host);
	return done && model_prepare(m, false, error);
}

/* Forward and backward. */
static bool pass(struct model *m, int64_t batch, int64_t classes, struct loss_result *result,
		 struct train_error *error)
{
	const struct pass_control control = {0, (int32_t)batch, 1.0f / (float)batch};
	int32_t *labels = malloc((size_t)batch * sizeof(*labels));
	const struct model_loss loss = {labels, &control, result, true, NULL, false};
	bool done;
	float *input = model_input(m, 0);

	for (size_t i = 0; i < model_input_bytes(m) / sizeof(*input); i++)
		input[i] = (float)stage_number((int64_t)i, 100) * 2.0f;
	for (int64_t i = 0; labels && i < batch; i++)
		labels[i] = (int32_t)(3 * i % classes);
	done = labels && model_forward(m, 0, NULL, error) && model_loss(m, 0, &loss, error) &&
	       model_backward(m, 0, NULL, NULL, error);
	free(labels);
	return done;
}

static bool dump(struct model *m, float loss, struct train_error *error)
{
	const struct model_shapes *shapes = model_shapes_of(m);
	float *host = malloc((size_t)shapes->elements * sizeof(*host));
	bool done = host != NULL;

	fwrite(model_output(m, 0), 1, model_output_bytes(m), stdout);
	fwrite(&loss, sizeof(loss), 1, stdout);
	for (int p = 0; done && p < shapes->parameters_count; p++) {
		done = model_read(m, model_gradients(m), p, host, error);
		fwrite(host, sizeof(*host), (size_t)shapes->parameters[p].elements, stdout);
	}
	free(host);
	return done;
}

static bool use(struct model *m, const struct model_spec *spec, int64_t batch, char **argv,
		struct train_error *error)
{
	struct loss_result result = {0, 0};

	(void)argv;
	return set_parameters(m, error) &&
	       pass(m, batch, spec->layers[spec->count - 1].out, &result, error) &&
	       dump(m, (float)(result.loss / (double)batch), error);
}

int main(int argc, char **argv)
{
	static const struct one_model program = {
		.usage = "model-dump MODEL BACKEND BATCH",
		.arguments = 3,
		.batch = 3,
		.exact = true,
		.use = use,
	};

	return one_model_main(&program, argc, argv);
}
