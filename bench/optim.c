/* SPDX-License-Identifier: MIT */
/*
 * optim: measures a step of an optimizer on one thread, with the 4,275,594 parameters of the
 * convnet. The yardstick reads and writes the same arrays and adds once per element; the rest is
 * arithmetic that memory does not hide. CPU time, medians of alternating runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "optim/clip.h"
#include "optim/optimizer.h"
#include "kernels/scaler.h"

enum { PARAMS = 8, RUNS = 41 };
static const int64_t sizes[PARAMS] = {1728, 64, 73728, 128, 4194304, 512, 5120, 10};

struct model {
	struct optimizer_param params[PARAMS];
	int64_t elements;
	float *weights, *gradients, *mean, *variance;
};

struct work {
	const char *name;
	int bytes; /* per element, read and written */
	void (*run)(const struct work *work);
	struct model *model;
	struct optimizer *optimizer;
	float *states[OPTIMIZER_MAX_STATES];
	double times[RUNS];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static float *filled(int64_t n, float value)
{
	float *x = aligned_alloc(64, (size_t)(n + 15) / 16 * 64);

	for (int64_t i = 0; x && i < n; i++)
		x[i] = value * (float)(i % 17 - 8);
	return x;
}

static bool make_model(struct model *model)
{
	int64_t at = 0;

	for (int i = 0; i < PARAMS; i++)
		model->elements += sizes[i];
	model->weights = filled(model->elements, 0.01f);
	model->gradients = filled(model->elements, 0.001f);
	model->mean = filled(model->elements, 0.001f);
	model->variance = filled(model->elements, 0);
	if (!model->weights || !model->gradients || !model->mean || !model->variance)
		return false;
	for (int i = 0; i < PARAMS; at += sizes[i++]) {
		model->params[i] = (struct optimizer_param){
			.weight = model->weights + at,
			.elements = sizes[i],
			.gradient = model->gradients + at,
		};
	}
	return true;
}

static void step(const struct work *work)
{
	struct optimizer_step how = {{1e-3, 0.9}, 1, 1};

	optimizer_begin(work->optimizer, &how);
	optimizer_part(work->optimizer, 0, 1);
}

static void scaled_step(const struct work *work)
{
	struct optimizer_step how = {{1e-3, 0.9}, 1 / 65536.0f, 0.5f};

	optimizer_begin(work->optimizer, &how);
	optimizer_part(work->optimizer, 0, 1);
}

static void norm(const struct work *work)
{
	volatile float result;
	float sum = 0;

	for (int i = 0; i < PARAMS; i++)
		sum += optimizer_norm(work->optimizer, i, 1);
	result = sum;
	(void)result;
}

static void are_finite(const struct work *work)
{
	volatile bool result = optimizer_finite(work->optimizer, 1, 0, 1);

	(void)result;
}

/* The yardstick for Adam: its arrays, with an addition each. */
static void memory_of_adam(const struct work *work)
{
	float *restrict w = work->model->weights, *restrict m = work->model->mean;
	float *restrict v = work->model->variance, *restrict g = work->model->gradients;

#pragma omp simd
	for (int64_t i = 0; i < work->model->elements; i++) {
		w[i] += g[i];
		m[i] += g[i];
		v[i] += g[i];
	}
}

static void memory_of_sgd(const struct work *work)
{
	float *restrict w = work->model->weights, *restrict g = work->model->gradients;

#pragma omp simd
	for (int64_t i = 0; i < work->model->elements; i++)
		w[i] += g[i];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool prepare(struct work *work, struct model *model, enum optimizer_kind kind,
		    double momentum)
{
	struct optimizer_settings settings = optimizer_rows[kind].initial;
	int64_t at = 0;

	settings.momentum = momentum;
	work->model = model;
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
		work->states[k] = filled(model->elements, 0);
	if (!work->states[0] || !work->states[1])
		return false;
	for (int i = 0; i < PARAMS; at += sizes[i++])
		for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
			model->params[i].state[k] = work->states[k] + at;
	work->optimizer = optimizer_new(&settings, model->params, PARAMS);
	return true;
}

int main(void)
{
	static struct model model;
	static struct work works[] = {
		{.name = "Adam's memory", .bytes = 28, .run = memory_of_adam},
		{.name = "Adam", .bytes = 28, .run = step},
		{.name = "Adam, unscaled, clipped", .bytes = 28, .run = scaled_step},
		{.name = "SGD's memory", .bytes = 12, .run = memory_of_sgd},
		{.name = "SGD", .bytes = 12, .run = step},
		{.name = "SGD with momentum", .bytes = 20, .run = step},
		{.name = "norm of the gradients", .bytes = 4, .run = norm},
		{.name = "are they finite", .bytes = 4, .run = are_finite},
	};
	enum { WORKS = sizeof(works) / sizeof(*works) };

	if (!make_model(&model))
		return 1;
	for (int i = 0; i < WORKS; i++)
		if (!prepare(&works[i], &model, i < 3 ? OPTIMIZER_ADAM : OPTIMIZER_SGD,
			     i < 3 || i == 5 ? 0.9 : 0))
			return 1;
	for (int run = 0; run < RUNS; run++)
		for (int i = 0; i < WORKS; i++) {
			double start = now();

			works[i].run(&works[i]);
			works[i].times[run] = now() - start;
		}
	for (int i = 0; i < WORKS; i++) {
		double *times = works[i].times, bytes = works[i].bytes * (double)model.elements;

		qsort(times, RUNS, sizeof(*times), compare);
		printf("%-24s %7.2f ms (least %6.2f) %6.1f MB %6.1f GB/s\n", works[i].name,
		       times[RUNS / 2], times[0], bytes / 1e6, bytes / times[RUNS / 2] / 1e6);
	}
	return 0;
}
