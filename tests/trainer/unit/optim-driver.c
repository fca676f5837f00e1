/* SPDX-License-Identifier: MIT */
/*
 * optim-driver: the optimizers, schedules, loss and so on for optim.py, which compares them with
 * PyTorch's. Arrays are raw float32 on standard input and output.
 *
 *	update KIND MOMENTUM BETA2 EPS DECAY NESTEROV SCALE MAX_NORM STEPS LR SIZE...
 *		SCALE of the gradients; MAX_NORM, their greatest norm, or 0. Reads weights and STEPS
 *		times gradients, of parameters of these sizes; writes the weights after each step,
 *		then each state.
 *	schedule KIND STEPS LR LR_MIN WARMUP	writes the rates of each step, as text
 *	scaler INTERVAL				reads 1 for finite, 0, as text; writes scales
 *	loss CLASSES SAMPLES COUNT SCALE	reads logits and labels, as floats; writes loss,
 *		correct, gradient
 *	half FORMAT				reads floats; writes their bits in FORMAT (1 bf16,
 *						2 fp16)
 *	norm SIZE...				reads arrays; writes the norm of each
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "kernels/bf16.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "kernels/scaler.h"

enum { MAX_PARAMS = 8 };

static _Noreturn void stop(const char *why)
{
	fprintf(stderr, "optim-driver: %s\n", why);
	exit(2);
}

static float *floats(int64_t n)
{
	float *memory = calloc((size_t)n + 1, sizeof(*memory));

	if (!memory)
		stop("out of memory");
	return memory;
}

static void get(float *to, int64_t n)
{
	if (fread(to, sizeof(*to), (size_t)n, stdin) != (size_t)n)
		stop("input ends too early");
}

static void put(const float *from, int64_t n)
{
	if (fwrite(from, sizeof(*from), (size_t)n, stdout) != (size_t)n)
		stop("cannot write");
}

static double number(const char *text)
{
	return strtod(text, NULL);
}

static int64_t whole(const char *text)
{
	return strtoll(text, NULL, 10);
}

/* The parameters' weights, one after the other, and as many gradients. */
struct model {
	struct optimizer_param params[MAX_PARAMS];
	int count;
	int64_t elements;
	float *weights, *gradients, *states[OPTIMIZER_MAX_STATES];
};

static void add_params(struct model *model, int count, char *sizes[])
{
	int64_t at = 0;

	if (count > MAX_PARAMS)
		stop("too many parameters");
	model->count = count;
	for (int i = 0; i < count; i++)
		model->elements += whole(sizes[i]);
	model->weights = floats(model->elements);
	model->gradients = floats(model->elements);
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
		model->states[k] = floats(model->elements);
	for (int i = 0; i < count; i++) {
		struct optimizer_param *param = &model->params[i];

		param->weight = model->weights + at;
		param->elements = whole(sizes[i]);
		param->gradient = model->gradients + at;
		for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
			param->state[k] = model->states[k] + at;
		at += whole(sizes[i]);
	}
}

static float whole_norm(const struct optimizer *optimizer, int count, float scale)
{
	float norms[MAX_PARAMS];

	for (int i = 0; i < count; i++)
		norms[i] = optimizer_norm(optimizer, i, scale);
	return clip_norm(norms, count, 1);
}

static void update(int argc, char *argv[])
{
	struct optimizer_settings settings = {
		.kind = (enum optimizer_kind)whole(argv[2]),
		.momentum = number(argv[3]),
		.beta2 = number(argv[4]),
		.eps = number(argv[5]),
		.weight_decay = number(argv[6]),
		.nesterov = whole(argv[7]),
	};
	double max = number(argv[9]), lr = number(argv[11]);
	float inv_scale = (float)number(argv[8]);
	struct model model = {.count = 0};
	struct optimizer *optimizer;

	add_params(&model, argc - 12, argv + 12);
	optimizer = optimizer_new(&settings, model.params, model.count);
	get(model.weights, model.elements);
	for (int64_t i = 0; i < whole(argv[10]); i++) {
		struct optimizer_step step = {{lr, settings.momentum}, inv_scale, 1};

		get(model.gradients, model.elements);
		if (max > 0)
			step.clip = clip_coefficient(whole_norm(optimizer, model.count, inv_scale),
						     max);
		optimizer_begin(optimizer, &step);
		for (int part = 2; part >= 0; part--)
			optimizer_part(optimizer, part, 3);
		put(model.weights, model.elements);
	}
	for (int k = 0; optimizer_state_name(&settings, k); k++)
		put(model.states[k], model.elements);
	optimizer_free(optimizer);
	free(model.weights);
	free(model.gradients);
	free(model.states[0]);
	free(model.states[1]);
}

static void schedule(char *argv[])
{
	struct schedule s = schedule_default((enum schedule_kind)whole(argv[2]), whole(argv[3]),
					     (struct rates){number(argv[4]), 0.9});

	s.lr_min = number(argv[5]);
	s.warmup = number(argv[6]);
	for (int64_t i = 0; i < s.steps; i++) {
		struct rates rates = schedule_at(&s, i);

		printf("%a %a\n", rates.lr, rates.momentum);
	}
}

static void scaler(char *argv[])
{
	struct scaler s = scaler_default();
	int finite;

	s.growth_interval = (int32_t)whole(argv[2]);
	while (scanf("%d", &finite) == 1) {
		scaler_update(&s, finite);
		printf("%a %d %a\n", (double)s.scale, s.good_steps, (double)scaler_inverse(&s));
	}
}

/* The backend's loss of all samples; the gradient replaces the logits. */
static struct loss_result cross_entropy(float *logits, const int32_t *labels,
					const struct layout *layout, float scale)
{
	const struct device_options where = {.threads = 1};
	const struct pass_control control = {0, (int32_t)layout->batch, scale};
	struct loss_result result = {0, 0};
	const struct op_args args = {.input = logits,
				     .input_gradient = logits,
				     .labels = labels,
				     .control = &control,
				     .result = &result};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct op *op;

	if (!backend_reference.open(&device, &where, &error) ||
	    !backend_reference.loss(&op, device, layout, &error) ||
	    !op->calls->forward(op, &args, &error))
		stop(error.text);
	op_free(op);
	backend_reference.close(device);
	return result;
}

static void loss(char *argv[])
{
	int64_t classes = whole(argv[2]), samples = whole(argv[3]);
	const struct layout layout = layout_host(VALUE_FLOAT32, samples, classes, 1, 1);
	double count = number(argv[4]), scale = number(argv[5]);
	float *logits = floats(samples * classes), *numbers = floats(samples), head[2];
	int32_t *labels = calloc((size_t)samples + 1, sizeof(*labels));
	struct loss_result result = {0, 0};

	if (!labels)
		stop("out of memory");
	get(logits, samples * classes);
	get(numbers, samples);
	for (int64_t i = 0; i < samples; i++)
		labels[i] = (int32_t)numbers[i];
	result = cross_entropy(logits, labels, &layout, (float)(scale / count));
	head[0] = (float)(result.loss / count);
	head[1] = (float)result.correct;
	put(head, 2);
	put(logits, samples * classes);
	free(logits);
	free(numbers);
	free(labels);
}

static void half(char *argv[])
{
	bool fp16 = whole(argv[2]) == 2;
	float x;

	while (fread(&x, sizeof(x), 1, stdin) == 1) {
		uint16_t bits = fp16 ? fp16_from_float(x) : bf16_from_float(x);

		fwrite(&bits, sizeof(bits), 1, stdout);
	}
}

static void norm(int argc, char *argv[])
{
	for (int i = 2; i < argc; i++) {
		int64_t n = whole(argv[i]);
		float *x = floats(n), result;

		get(x, n);
		result = clip_norm(x, n, 1);
		put(&result, 1);
		free(x);
	}
}

int main(int argc, char *argv[])
{
	const char *command = argc > 1 ? argv[1] : "";

	if (strcmp(command, "update") == 0 && argc > 12)
		update(argc, argv);
	else if (strcmp(command, "schedule") == 0 && argc == 7)
		schedule(argv);
	else if (strcmp(command, "scaler") == 0 && argc == 3)
		scaler(argv);
	else if (strcmp(command, "loss") == 0 && argc == 6)
		loss(argv);
	else if (strcmp(command, "half") == 0 && argc == 3)
		half(argv);
	else if (strcmp(command, "norm") == 0)
		norm(argc, argv);
	else
		stop("usage: see its source");
	return fflush(stdout) ? 2 : 0;
}
