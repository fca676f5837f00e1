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

/* The state_dict of a model on the host. */
struct state {
	struct tensor parameters[MODEL_MAX_PARAMETERS], buffers[2 * MODEL_MAX_LAYERS];
	struct checkpoint_counter counters[MODEL_MAX_LAYERS];
	char names[MODEL_MAX_LAYERS][64];
	int64_t tracked; /* read, and not used */
	struct checkpoint all;
};

static void name_state(struct state *s, const struct model_shapes *shapes,
		       const struct model_spec *spec, float *host)
{
	s->all = (struct checkpoint){.parameters = s->parameters,
				     .count = (size_t)shapes->parameters_count,
				     .buffers = s->buffers,
				     .buffer_count = (size_t)shapes->buffers_count,
				     .counters = s->counters};
	for (int i = 0; i < shapes->parameters_count; i++)
		s->parameters[i] =
			(struct tensor){shapes->parameters[i].name, shapes->parameters[i].shape,
					host + shapes->parameters[i].offset};
	for (int i = 0; i < shapes->buffers_count; i++)
		s->buffers[i] =
			(struct tensor){shapes->buffers[i].name,
					{1, {shapes->buffers[i].elements}},
					host + shapes->elements + shapes->buffers[i].offset};
	for (int i = 0; i < spec->count; i++) {
		char *name = s->names[s->all.counter_count];

		if (shapes->layers[i].buffers < 0)
			continue;
		snprintf(name, sizeof(s->names[0]), "%s.num_batches_tracked", spec->layers[i].name);
		s->counters[s->all.counter_count++] =
			(struct checkpoint_counter){name, &s->tracked};
	}
}

static bool load(struct model *m, const struct model_spec *spec, const char *name,
		 struct train_error *error)
{
	const struct model_shapes *shapes = &m->shapes;
	float *host = calloc((size_t)(shapes->elements + shapes->buffer_elements), sizeof(*host));
	static struct state state;
	struct safetensors *file;
	bool done;

	if (!host || !safetensors_open(&file, name, error)) {
		free(host);
		return false;
	}
	name_state(&state, shapes, spec, host);
	done = checkpoint_load_model(&state.all, file, error);
	for (int i = 0; done && i < shapes->parameters_count; i++)
		done = model_write(m, m->values, i, state.parameters[i].data, error);
	for (int i = 0; done && i < shapes->buffers_count; i++)
		done = model_write_buffer(m, i, state.buffers[i].data, error);
	safetensors_free(file);
	free(host);
	return done && model_prepare(m, false, error);
}

static bool compute(struct model *m, const struct model_spec *spec, const char *folder,
		    int64_t count, struct train_error *error)
{
	const struct pass_control control = {0, (int32_t)count, 1};
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
	done = model_forward(m, 0, &(struct model_pass){&control, false}, error);
	dataset_free(&test);
	free(labels);
	free(indices);
	if (done)
		fwrite(model_output(m, 0), 1, model_output_bytes(m), stdout);
	return done;
}

static bool use(struct model *m, const struct model_spec *spec, const struct model_options *options,
		char **argv, struct train_error *error)
{
	return load(m, spec, argv[3], error) && compute(m, spec, argv[4], options->batch, error);
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
