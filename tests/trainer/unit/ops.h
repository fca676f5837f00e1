/* SPDX-License-Identifier: MIT */
/* Cases of every operation, and how two backends' results are compared. */
#ifndef TRAIN_TESTS_OPS_H
#define TRAIN_TESTS_OPS_H

#include <math.h>

#include "stage.h"
#include "unit.h"

#define CONVOLUTION(OUT, KERNEL, PAD, RELU) \
	{ \
		.name = "c", .kind = LAYER_CONVOLUTION, .out = (OUT), .kernel = (KERNEL), \
		.pad = (PAD), .relu = (RELU) \
	}
#define MAX_POOL(KERNEL) \
	{ \
		.name = "p", .kind = LAYER_MAX_POOL, .kernel = (KERNEL) \
	}
#define LINEAR(OUT, RELU) \
	{ \
		.name = "l", .kind = LAYER_LINEAR, .out = (OUT), .relu = (RELU) \
	}

/* With a name, for additions: FROM and AND are the layers that it reads. */
#define NAMED(NAME, FROM, OUT, KERNEL, RELU) \
	{ \
		.name = (NAME), .kind = LAYER_CONVOLUTION, .from = {FROM}, .out = (OUT), \
		.kernel = (KERNEL), .pad = (KERNEL) / 2, .relu = (RELU) \
	}
#define ADD(NAME, FROM, AND, RELU) \
	{ \
		.name = (NAME), .kind = LAYER_ADD, .from = {FROM, AND}, .relu = (RELU) \
	}

static const struct stage_case cases[] = {
	{"convolution", 2, 3, 8, 8, {CONVOLUTION(16, 3, 1, false)}, 1},
	{"convolution of one sample", 1, 3, 8, 8, {CONVOLUTION(16, 3, 1, false)}, 1},
	{"convolution of odd sizes", 3, 5, 7, 9, {CONVOLUTION(6, 3, 1, false)}, 1},
	{"convolution to one value", 3, 5, 3, 3, {CONVOLUTION(7, 3, 0, false)}, 1},
	{"convolution without padding", 2, 3, 9, 9, {CONVOLUTION(8, 5, 0, false)}, 1},
	{"convolution of one value", 1, 1, 1, 1, {CONVOLUTION(1, 1, 0, false)}, 1},
	{"convolution with ReLU", 2, 4, 6, 5, {CONVOLUTION(9, 3, 1, true)}, 1},
	{"wide convolution", 2, 32, 8, 8, {CONVOLUTION(32, 3, 1, true)}, 1},
	{"wide convolution of odd sizes", 3, 32, 7, 9, {CONVOLUTION(48, 3, 1, true)}, 1},
	{"wide convolution, no padding", 2, 48, 6, 9, {CONVOLUTION(32, 3, 0, false)}, 1},
	{"wide convolution, not of 16", 2, 36, 5, 4, {CONVOLUTION(33, 3, 1, false)}, 1},
	{"max-pooling", 2, 8, 6, 6, {MAX_POOL(2)}, 1},
	{"max-pooling that leaves rest", 1, 3, 7, 5, {MAX_POOL(2)}, 1},
	{"max-pooling of 3", 2, 16, 9, 9, {MAX_POOL(3)}, 1},
	{"linear", 3, 7, 1, 1, {LINEAR(5, false)}, 1},
	{"linear of one sample", 1, 33, 1, 1, {LINEAR(17, false)}, 1},
	{"linear of one value", 1, 1, 1, 1, {LINEAR(1, false)}, 1},
	{"linear with ReLU", 4, 64, 1, 1, {LINEAR(32, true)}, 1},
	{"linear of planes", 2, 3, 4, 5, {LINEAR(6, false)}, 1},
	{"convolution, ReLU, max-pooling",
	 2,
	 3,
	 8,
	 8,
	 {CONVOLUTION(16, 3, 1, true), MAX_POOL(2)},
	 2},
	{"the same of odd sizes", 1, 5, 7, 7, {CONVOLUTION(11, 3, 1, true), MAX_POOL(2)}, 2},
	{"convolution and linear", 2, 3, 4, 4, {CONVOLUTION(16, 3, 1, true), LINEAR(8, true)}, 2},
	{"the same of odd sizes", 3, 3, 5, 3, {CONVOLUTION(5, 3, 1, true), LINEAR(3, false)}, 2},
	{"max-pooling and linear", 2, 16, 4, 4, {MAX_POOL(2), LINEAR(8, true)}, 2},
	{"max-pooling to one value and linear",
	 2,
	 3,
	 4,
	 4,
	 {CONVOLUTION(32, 3, 1, true), MAX_POOL(4), LINEAR(10, false)},
	 3},
	{"convolution to one value and linear",
	 2,
	 3,
	 4,
	 4,
	 {CONVOLUTION(16, 4, 0, true), LINEAR(10, false)},
	 2},
	{"convolution between linear",
	 2,
	 24,
	 1,
	 1,
	 {LINEAR(16, true), CONVOLUTION(32, 1, 0, true), LINEAR(10, false)},
	 3},
	{"residual block",
	 2,
	 16,
	 6,
	 5,
	 {NAMED("a", NULL, 16, 3, true), NAMED("b", NULL, 16, 3, false),
	  ADD("add", NULL, "before", true)},
	 3},
	{"residual block of odd sizes",
	 3,
	 5,
	 5,
	 3,
	 {NAMED("a", NULL, 7, 1, true), NAMED("b", NULL, 5, 3, false),
	  ADD("add", "before", "b", true)},
	 3},
	{"two blocks, the second with a projection",
	 2,
	 8,
	 6,
	 6,
	 {NAMED("a", NULL, 8, 3, true), NAMED("b", NULL, 8, 3, false),
	  ADD("add1", NULL, "before", true), NAMED("c", NULL, 16, 3, true),
	  NAMED("d", NULL, 16, 3, false), NAMED("e", "add1", 16, 1, false),
	  ADD("add2", "d", "e", true), MAX_POOL(2), LINEAR(4, false)},
	 9},
	{"additions of additions",
	 2,
	 8,
	 4,
	 4,
	 {NAMED("a", NULL, 8, 3, false), ADD("add1", "a", "before", false),
	  NAMED("b", NULL, 8, 3, false), ADD("add2", "b", "add1", false),
	  ADD("add3", "add2", "add1", false), LINEAR(6, false)},
	 6},
	{"an addition of two ReLUs",
	 2,
	 8,
	 4,
	 4,
	 {NAMED("a", NULL, 8, 3, true), NAMED("b", "before", 8, 3, true),
	  ADD("add", "a", "b", false)},
	 3},
	{"a pooling beside an addition",
	 2,
	 8,
	 4,
	 4,
	 {NAMED("a", NULL, 8, 3, true), MAX_POOL(1), ADD("add", NULL, "a", false), MAX_POOL(2)},
	 4},
	{"linear layers with an addition",
	 3,
	 9,
	 1,
	 1,
	 {LINEAR(9, true), ADD("add", NULL, "before", false), LINEAR(5, false)},
	 3},
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static inline struct stage_result run(const struct stage_case *c,
				      const struct stage_setting *setting, int64_t moved, double by)
{
	struct train_error error = {.status = TRAIN_OK};
	struct stage_result result;

	ck_assert_msg(stage_run(&result, c, setting, moved, by, &error), "%s: %s", c->name,
		      error.text);
	return result;
}

/* The greatest difference, relative to the greatest value that is wanted. */
static inline double difference(const double *got, const double *want, int64_t count)
{
	double max = 0.0, scale = 1e-30;

	for (int64_t i = 0; i < count; i++) {
		double d = fabs(got[i] - want[i]);

		max = d > max || isnan(d) ? (isnan(d) ? INFINITY : d) : max;
		scale = fabs(want[i]) > scale ? fabs(want[i]) : scale;
	}
	return max / scale;
}

/* A GPU rounds all but exact float32; a pretended one computes in float32. */
static inline bool is_rounded(const struct stage_setting *setting)
{
#ifndef FAKE_CUDA
	if (strcmp(setting->backend->name, "cuda") == 0)
		return setting->type != VALUE_FLOAT32 || !setting->exact;
#endif
	return setting->type == VALUE_BFLOAT16;
}

/* Whether a layer decides which value is the greatest, or above 0. If values are rounded, many are
 * nearly equal and the last bits decide; then gradients go elsewhere. */
static inline bool decides(const struct stage_case *c)
{
	bool found = false;

	for (int i = 0; i < c->count; i++)
		found = found || c->layers[i].kind == LAYER_MAX_POOL || c->layers[i].relu;
	return found;
}

static inline void compare(const struct stage_case *c, const struct stage_setting *setting,
			   const struct stage_setting *reference, double tolerance)
{
	struct stage_result got = run(c, setting, -1, 0.0), want = run(c, reference, -1, 0.0);
	const double differences[] = {
		difference(got.output, want.output, want.outputs),
		difference(got.input_gradient, want.input_gradient, want.inputs),
		difference(got.gradients, want.gradients, want.parameters),
	};

	for (int i = 0; i < (is_rounded(setting) && decides(c) ? 1 : 3); i++)
		ck_assert_msg(differences[i] <= tolerance, "%s, %s, %s%s: %s differs by %g",
			      setting->backend->name, c->name, value_name(setting->type),
			      setting->exact ? " exact" : "",
			      (const char *[]){"output", "input's gradient", "gradients"}[i],
			      differences[i]);
	stage_free(&got);
	stage_free(&want);
}

/* The sum of outputs times the output gradients, whose derivatives the gradients are. */
static inline double objective(const struct stage_case *c, const struct stage_setting *setting,
			       int64_t moved, double by)
{
	struct stage_result result = run(c, setting, moved, by);
	double sum = 0.0;

	for (int64_t i = 0; i < result.outputs; i++)
		sum += result.output[i] * stage_number(i, 3);
	stage_free(&result);
	return sum;
}

enum { DIFFERENCES = SANITIZED ? 8 : 40 };

/* The reference's gradients in double, at `tries` places, against finite differences by `by`. */
static inline void gradients_are_differences_of(const struct stage_case *c, int tries, double by,
						double most)
{
	const struct stage_setting setting = {&backend_reference, VALUE_FLOAT64, false, 1};
	struct stage_result result = run(c, &setting, -1, 0.0);
	int64_t places = result.inputs + result.parameters;

	for (int try = 0; try < tries; try++) {
		int64_t place = places <= tries ? try % places : try * (places - 1) / (tries - 1);
		double got = place < result.inputs ? result.input_gradient[place]
						   : result.gradients[place - result.inputs];
		double want =
			(objective(c, &setting, place, by) - objective(c, &setting, place, -by)) /
			(2.0 * by);

		ck_assert_msg(fabs(got - want) < most * (1.0 + fabs(want)),
			      "%s: place %d: %.12g, not %.12g", c->name, (int)place, got, want);
	}
	stage_free(&result);
}

#endif
