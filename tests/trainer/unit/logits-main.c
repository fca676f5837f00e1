/* SPDX-License-Identifier: MIT */
/*
 * logits-main MODEL BACKEND FILE DATA COUNT: the logits of the first test images of a folder of
 * CIFAR-10, as floats, with the parameters of a safetensors file. For torch-train.py to compare.
 */
#include <stdio.h>
#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "data/cifar10.h"
#include "one-model.h"

static bool load(struct model *m, const char *name, struct train_error *error)
{
	const struct model_shapes *shapes = model_shapes_of(m);
	struct tensor tensors[MODEL_MAX_PARAMETERS];
	float *host = calloc((size_t)shapes->elements, sizeof(*host));
	const struct checkpoint into = {.parameters = tensors,
					.count = (size_t)shapes->parameters_count};
	struct safetensors *file;
	bool done;

	for (int i = 0; i < shapes->parameters_count; i++)
		tensors[i] =
			(struct tensor){shapes->parameters[i].name, shapes->parameters[i].shape,
					host + shapes->parameters[i].offset};
	if (!host || !safetensors_open(&file, name, error)) {
		free(host);
		return false;
	}
	done = checkpoint_load_model(&into, file, error);
	for (int i = 0; done && i < shapes->parameters_count; i++)
		done = model_write(m, model_values(m), i, tensors[i].data, error);
	safetensors_free(file);
	free(host);
	return done && model_prepare(m, false, error);
}

static bool compute(struct model *m, const struct model_spec *spec, const char *folder,
		    int64_t count, struct train_error *error)
{
	const struct batch_options options = {.height = spec->height, .width = spec->width};
	int64_t *indices = calloc((size_t)count, sizeof(*indices));
	int32_t *labels = calloc((size_t)count, sizeof(*labels));
	struct dataset test;
	bool done;

	if (!indices || !labels || !cifar10_read(&test, folder, CIFAR10_TEST, 0, error)) {
		free(labels);
		free(indices);
		return false;
	}
	for (int64_t i = 0; i < count; i++)
		indices[i] = i % test.samples;
	batch_fill(model_input(m, 0), labels, &test, &options, 0, indices, count);
	done = model_forward(m, 0, NULL, error);
	dataset_free(&test);
	free(labels);
	free(indices);
	if (done)
		fwrite(model_output(m, 0), 1, model_output_bytes(m), stdout);
	return done;
}

static bool use(struct model *m, const struct model_spec *spec, int64_t batch, char **argv,
		struct train_error *error)
{
	return load(m, argv[3], error) && compute(m, spec, argv[4], batch, error);
}

int main(int argc, char **argv)
{
	static const struct one_model program = {
		.usage = "logits-main MODEL BACKEND FILE DATA COUNT",
		.arguments = 5,
		.batch = 5,
		.use = use,
	};

	return one_model_main(&program, argc, argv);
}
