/* SPDX-License-Identifier: MIT */
/*
 * train BATCH THREADS float32|bfloat16 [exact]: milliseconds of each operation of convnet on the
 * CPU, and of a whole step with a batch of synthetic images and Adam: minimum and median of the
 * runs. With one thread this is that thread's CPU time, which other programs disturb less. Also
 * prints the memory of the device, and the peak of the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "backend/cpu/cpu.h"
#include "model/plan_stage.h"

enum { RUNS = 31, PASSES = 4 };

static const char *const passes[PASSES] = {"prepare", "forward", "backward weights",
					   "backward data"};

struct times {
	double each[RUNS];
};

static double now(const struct model *m)
{
	struct timespec t;
	int threads = ((const struct cpu_device *)m->device)->team.threads;

	clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double print(const char *name, const char *what, const char *how, struct times *t)
{
	qsort(t->each, RUNS, sizeof(*t->each), compare);
	printf("%-12s %-17s %8.3f %8.3f  %s\n", name, what, t->each[0], t->each[RUNS / 2], how);
	return t->each[RUNS / 2];
}

/* Runs one pass of a node, if it has that pass; -1 on failure. */
static int run(struct model *m, int index, int pass, struct train_error *error)
{
	struct node *node = &m->nodes[index];
	const struct op_calls *calls = node->op->calls;
	struct op_args args = node_args(m, index, 0);
	bool (*const call[PASSES])(struct op *, const struct op_args *, struct train_error *) = {
		calls->prepare, calls->forward, calls->backward_weights,
		node->backward_data ? calls->backward_data : NULL};

	return !call[pass] ? 0 : call[pass](node->op, &args, error) ? 1 : -1;
}

static bool measure_ops(struct model *m, struct train_error *error)
{
	double sum = 0.0;

	for (int i = 0; i < m->count; i++)
		for (int pass = 0; pass < PASSES; pass++) {
			struct times times;
			int done = 0;

			for (int r = 0; r < RUNS; r++) {
				double start = now(m);

				done = run(m, i, pass, error);
				times.each[r] = now(m) - start;
			}
			if (done < 0)
				return false;
			if (done)
				sum += print(m->nodes[i].layer < 0
						     ? "conversion"
						     : m->spec->layers[m->nodes[i].layer].name,
					     passes[pass], m->nodes[i].op->info.algorithm, &times);
		}
	printf("%-12s %-17s %8s %8.3f\n", "operations", "sum", "", sum);
	return true;
}

/* What a step needs besides the model. */
struct training {
	struct model *m;
	struct dataset dataset;
	struct device_data *data;
	struct optimize *optimize;
	int64_t *indices;
	int32_t *labels;
	struct loss_result result;
};

enum { FILL, PASSES_ALL, UPDATE, STEP, PARTS };

static bool measure_step(struct training *t, struct train_error *error)
{
	static const char *const parts[PARTS] = {"batch", "forward+backward", "optimizer", "all"};
	const struct batch_options options = {.height = 32, .width = 32, .augment = true};
	const struct update_control update = {.lr = 1e-3, .momentum = 0.9};
	const struct backend *backend = t->m->device->backend;
	struct model *m = t->m;
	const struct pass_control control = {0, (int32_t)m->options.batch,
					     1.0f / (float)m->options.batch};
	const struct data_batch batch = {&options,  m->options.batch,  &control, t->indices,
					 &m->input, model_input(m, 0), t->labels};
	const struct model_loss loss = {t->labels, &control, &t->result, true, NULL, false};
	struct times times[PARTS];

	if (!model_prepare(m, false, error))
		return false;
	for (int r = -3; r < RUNS; r++) {
		double at[PARTS] = {now(m)};

		if (!backend->data_fill(t->data, &batch, error))
			return false;
		at[1] = now(m);
		if (!model_forward(m, 0, NULL, error) || !model_loss(m, 0, &loss, error) ||
		    !model_backward(m, 0, NULL, NULL, error))
			return false;
		at[2] = now(m);
		if (!backend->optimize_run(t->optimize, &update, NULL, error) ||
		    !model_prepare(m, true, error))
			return false;
		at[3] = now(m);
		for (int part = 0; r >= 0 && part < STEP; part++)
			times[part].each[r] = at[part + 1] - at[part];
		if (r >= 0)
			times[STEP].each[r] = at[3] - at[0];
	}
	for (int part = 0; part < PARTS; part++)
		print("step", parts[part], "", &times[part]);
	return true;
}

static bool training_open(struct training *t, struct train_error *error)
{
	const struct dataset_synthetic synthetic = {
		.shape = {3, 32, 32}, .classes = 10, .samples = t->m->options.batch, .seed = 1};
	const struct backend *backend = t->m->device->backend;
	const struct model_shapes *shapes = &t->m->shapes;
	struct optimize_parameter parameters[MODEL_MAX_PARAMETERS];
	const struct optimize_options options = {.settings = optimizer_rows[OPTIMIZER_ADAM].initial,
						 .values = t->m->values,
						 .gradients = t->m->gradients,
						 .parameters = parameters,
						 .count = shapes->parameters_count};

	for (int i = 0; i < options.count; i++) {
		const struct model_parameter *p = &shapes->parameters[i];

		parameters[i] = (struct optimize_parameter){.name = p->name,
							    .offset = p->offset,
							    .elements = p->elements,
							    .used = true};
		parameters[i].copy = model_copy(t->m, i);
	}
	t->indices = calloc((size_t)synthetic.samples, sizeof(*t->indices));
	t->labels = calloc((size_t)synthetic.samples, sizeof(*t->labels));
	for (int64_t i = 0; t->indices && i < synthetic.samples; i++)
		t->indices[i] = i;
	return t->indices && t->labels && dataset_make(&t->dataset, &synthetic, error) &&
	       backend->data_open(&t->data, t->m->device, &t->dataset, error) &&
	       backend->optimize_new(&t->optimize, t->m->device, &options, error);
}

static bool measure_training(struct model *m, struct train_error *error)
{
	struct training t = {.m = m};
	const struct backend *backend = m->device->backend;
	bool done = training_open(&t, error) && measure_step(&t, error);

	backend->optimize_free(t.optimize);
	backend->data_close(t.data);
	dataset_free(&t.dataset);
	free(t.labels);
	free(t.indices);
	return done;
}

static void fill(struct model *m)
{
	float *input = model_input(m, 0), *values = m->values;
	int64_t count = m->elements;

	for (size_t i = 0; i < m->input.bytes / sizeof(*input); i++)
		input[i] = (float)(i * 7919 % 1000) / 500.0f - 1.0f;
	for (int64_t i = 0; i < count; i++)
		values[i] = (float)(i * 7919 % 1000) / 10000.0f - 0.05f;
}

static bool measure(const struct model_options *options, const struct device_options *where,
		    struct train_error *error)
{
	const struct model_spec *spec = model_find("convnet", error);
	const struct backend *backend = backend_find("onednn", error);
	struct device *device;
	struct rusage usage;
	struct model *m;
	bool done = false;

	if (!spec || !backend || !backend->open(&device, where, error))
		return false;
	if (model_open(&m, spec, device, options, error)) {
		fill(m);
		done = measure_training(m, error) && measure_ops(m, error);
		getrusage(RUSAGE_SELF, &usage);
		printf("%-12s %.1f MB, process %.1f MB\n", "memory",
		       (double)device->peak_bytes / 1e6, (double)usage.ru_maxrss * 1024 / 1e6);
		model_close(m);
	}
	backend->close(device);
	return done;
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	struct model_options options = {.slots = 1, .last = 5};
	struct device_options where = {.exact = argc > 4};

	if (argc < 4) {
		fputs("usage: train BATCH THREADS float32|bfloat16 [exact]\n", stderr);
		return 2;
	}
	options.batch = strtol(argv[1], NULL, 10);
	where.threads = (int)strtol(argv[2], NULL, 10);
	options.type = strcmp(argv[3], "bfloat16") == 0 ? VALUE_BFLOAT16 : VALUE_FLOAT32;
	if (!measure(&options, &where, &error)) {
		fprintf(stderr, "train: %s\n", error.text);
		return error.status;
	}
	return 0;
}
