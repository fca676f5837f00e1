/* SPDX-License-Identifier: MIT */
/* Every operation: the reference against finite differences in double, the others against it. */
#include <math.h>
#include <stdlib.h>

#include "config.h"
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
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static struct stage_result run(const struct stage_case *c, const struct stage_setting *setting,
			       int64_t moved, double by)
{
	struct train_error error = {.status = TRAIN_OK};
	struct stage_result result;

	ck_assert_msg(stage_run(&result, c, setting, moved, by, &error), "%s: %s", c->name,
		      error.text);
	return result;
}

/* The sum of outputs times the output gradients, whose derivatives the gradients are. */
static double objective(const struct stage_case *c, const struct stage_setting *setting,
			int64_t moved, double by)
{
	struct stage_result result = run(c, setting, moved, by);
	double sum = 0.0;

	for (int64_t i = 0; i < result.outputs; i++)
		sum += result.output[i] * stage_number(i, 3);
	stage_free(&result);
	return sum;
}

START_TEST(gradients_are_differences)
{
	enum { TRIES = 40 };
	const struct stage_case *c = &cases[_i];
	const struct stage_setting setting = {&backend_reference, VALUE_FLOAT64, false, 1};
	struct stage_result result = run(c, &setting, -1, 0.0);
	int64_t places = result.inputs + result.parameters;
	const double by = 1e-6;

	for (int try = 0; try < TRIES; try++) {
		int64_t place = places <= TRIES ? try % places : try * (places - 1) / (TRIES - 1);
		double got = place < result.inputs ? result.input_gradient[place]
						   : result.gradients[place - result.inputs];
		double want =
			(objective(c, &setting, place, by) - objective(c, &setting, place, -by)) /
			(2.0 * by);

		ck_assert_msg(fabs(got - want) < 1e-7 * (1.0 + fabs(want)),
			      "%s: place %d: %.12g, not %.12g", c->name, (int)place, got, want);
	}
	stage_free(&result);
}
END_TEST

/* The greatest difference, relative to the greatest value that is wanted. */
static double difference(const double *got, const double *want, int64_t count)
{
	double most = 0.0, scale = 1e-30;

	for (int64_t i = 0; i < count; i++) {
		double d = fabs(got[i] - want[i]);

		most = d > most || isnan(d) ? (isnan(d) ? INFINITY : d) : most;
		scale = fabs(want[i]) > scale ? fabs(want[i]) : scale;
	}
	return most / scale;
}

static void compare(const struct stage_case *c, const struct stage_setting *setting,
		    const struct stage_setting *reference, double tolerance)
{
	struct stage_result got = run(c, setting, -1, 0.0), want = run(c, reference, -1, 0.0);
	const double differences[] = {
		difference(got.output, want.output, want.outputs),
		difference(got.input_gradient, want.input_gradient, want.inputs),
		difference(got.gradients, want.gradients, want.parameters),
	};

	for (int i = 0; i < 3; i++)
		ck_assert_msg(differences[i] <= tolerance, "%s, %s, %s%s: %s differs by %g",
			      setting->backend->name, c->name, value_name(setting->type),
			      setting->exact ? " exact" : "",
			      (const char *[]){"output", "input's gradient", "gradients"}[i],
			      differences[i]);
	stage_free(&got);
	stage_free(&want);
}

START_TEST(types_round)
{
	const struct stage_setting exact = {&backend_reference, VALUE_FLOAT64, false, 1};
	const struct stage_setting types[] = {
		{&backend_reference, VALUE_FLOAT32, false, 1},
		{&backend_reference, VALUE_FLOAT16, false, 1},
		{&backend_reference, VALUE_BFLOAT16, false, 1},
	};

	compare(&cases[_i], &types[0], &exact, 1e-6);
	/* An input rounds by half a unit in 11 and 8 bits. */
	if (cases[_i].layers[0].kind != LAYER_MAX_POOL && !cases[_i].layers[0].relu) {
		compare(&cases[_i], &types[1], &exact, 4e-3);
		compare(&cases[_i], &types[2], &exact, 3e-2);
	}
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_is_the_reference)
{
	const struct stage_setting reference = {&backend_reference, VALUE_FLOAT32, false, 1};

	for (int threads = 1; threads <= 2; threads++)
		for (int exact = 0; exact < 2; exact++) {
			const struct stage_setting setting = {&backend_onednn, VALUE_FLOAT32, exact,
							      threads};

			compare(&cases[_i], &setting, &reference, exact ? 2e-6 : 2e-5);
		}
}
END_TEST

/* On a processor without it, one line says so. */
START_TEST(onednn_has_bfloat16_or_says_so)
{
	const struct stage_setting setting = {&backend_onednn, VALUE_BFLOAT16, false, 1};
	const struct stage_setting reference = {&backend_reference, VALUE_BFLOAT16, false, 1};
	struct train_error error = {.status = TRAIN_OK};
	struct stage_result result;

	if (stage_run(&result, &cases[_i], &setting, -1, 0.0, &error)) {
		stage_free(&result);
		compare(&cases[_i], &setting, &reference, 3e-2);
		return;
	}
	ck_assert_msg(error.status == TRAIN_NO_BACKEND && strstr(error.text, "AVX-512"), "%s: %s",
		      cases[_i].name, error.text);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("ops");
	TCase *tests = tcase_create("ops");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, gradients_are_differences, 0, CASES);
	tcase_add_loop_test(tests, types_round, 0, CASES);
#ifdef HAVE_DNNL
	tcase_add_loop_test(tests, onednn_is_the_reference, 0, CASES);
	tcase_add_loop_test(tests, onednn_has_bfloat16_or_says_so, 0, CASES);
#endif
	return unit_run(suite);
}
