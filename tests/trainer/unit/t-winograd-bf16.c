/* SPDX-License-Identifier: MIT */
/* Winograd's convolution in bfloat16 against its definition in double: its error is at most twice
 * that of the direct form, which rounds weights and outputs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/winograd_bf16.h"
#include "base/simd.h"
#include "kernels/bf16.h"
#include "unit.h"

#ifdef SIMD_X86

static const struct {
	const char *name;
	struct cpu_winograd shape;
} rows[] = {
	{"whole tiles", {3, 64, 128, 8, 8, 8, 8, 1, false}},
	{"ReLU", {3, 64, 128, 8, 8, 8, 8, 1, true}},
	{"odd sizes", {3, 32, 48, 9, 7, 9, 7, 1, false}},
	{"no padding", {4, 48, 80, 8, 8, 6, 6, 0, false}},
	{"full padding", {1, 32, 16, 5, 16, 7, 18, 2, true}},
	{"one value", {8, 64, 32, 1, 1, 1, 1, 1, false}},
	{"one value of nine", {8, 16, 32, 3, 3, 1, 1, 0, false}},
	{"one row", {2, 16, 16, 1, 23, 1, 23, 1, false}},
};
enum { ROWS = sizeof(rows) / sizeof(*rows), NINE = 9, LANES = 16 };

/* A convolution: forward, or for the data's gradient, with the weights of the first one turned. */
struct arrays {
	const struct cpu_winograd *w;
	bool data;
	uint16_t *input, *output;
	float *weight, *bias; /* of w: (in, 3, 3, out) */
	int64_t inputs, outputs, weights;
};

static void *memory(size_t bytes)
{
	void *made = aligned_alloc(64, (bytes + 63) / 64 * 64);

	ck_assert_ptr_nonnull(made);
	memset(made, 0xff, bytes); /* NaNs, were they read */
	return made;
}

static float number(int64_t i, uint32_t seed)
{
	uint32_t drawn = ((uint32_t)i + seed * 7919) * 2654435761u;

	return (float)((drawn ^ drawn >> 15) * 2246822519u >> 8) / (1 << 24) - 0.5f;
}

static struct arrays arrays_new(const struct cpu_winograd *w, bool data)
{
	struct arrays a = {.w = w,
			   .data = data,
			   .inputs = w->batch * w->in * w->height * w->width,
			   .outputs = w->batch * w->out * w->out_height * w->out_width,
			   .weights = w->in * NINE * w->out};

	a.input = memory((size_t)a.inputs * sizeof(*a.input));
	a.output = memory((size_t)a.outputs * sizeof(*a.output));
	a.weight = memory((size_t)a.weights * sizeof(*a.weight));
	a.bias = memory((size_t)w->out * sizeof(*a.bias));
	for (int64_t i = 0; i < a.inputs; i++)
		a.input[i] = bf16_from_float(number(i, 1));
	for (int64_t i = 0; i < a.weights; i++)
		a.weight[i] = number(i, 2);
	for (int64_t i = 0; i < w->out; i++)
		a.bias[i] = number(i, 3);
	return a;
}

static void arrays_free(struct arrays *a)
{
	free(a->input);
	free(a->output);
	free(a->weight);
	free(a->bias);
}

static void run(struct arrays *a, int threads)
{
	struct cpu_team team;
	void *transformed = memory(cpu_winograd_bf16_transformed(a->w));
	void *scratch = memory(cpu_winograd_bf16_scratch(a->w, threads));

	cpu_team_open(&team, threads);
	cpu_winograd_bf16_weights(a->w, &team, a->weight, a->data, transformed);
	cpu_winograd_bf16_run(a->w, &team,
			      &(struct cpu_winograd_run){a->input, transformed,
							 a->data ? NULL : a->bias, a->output,
							 scratch});
	free(transformed);
	free(scratch);
}

static int64_t index_of(int64_t channels, int64_t n, int64_t c, int64_t area, int64_t place)
{
	return ((n * channels + c) / LANES * area + place) * LANES + c % LANES;
}

/* Output (n, k) at `place`, with weights as they are or rounded. */
static double sum_of(const struct arrays *a, int64_t n, int64_t k, int64_t place, bool rounded)
{
	const struct cpu_winograd *w = a->w;
	double sum = a->data ? 0.0 : (double)a->bias[k];

	for (int64_t i = 0; i < w->in * NINE; i++) {
		int64_t y = place / w->out_width + i % NINE / 3 - w->pad;
		int64_t x = place % w->out_width + i % 3 - w->pad;
		int64_t at = a->data ? i / NINE * NINE + NINE - 1 - i % NINE : i, from;
		float weight = a->weight[at * w->out + k];

		if (y < 0 || x < 0 || y >= w->height || x >= w->width)
			continue;
		from = index_of(w->in, n, i / NINE, w->height * w->width, y * w->width + x);
		weight = rounded ? bf16_to_float(bf16_from_float(weight)) : weight;
		sum += (double)bf16_to_float(a->input[from]) * (double)weight;
	}
	return w->relu && sum < 0 ? 0 : sum;
}

/* The squares of the errors of both forms. */
struct errors {
	double winograd, direct;
};

static struct errors errors_of(const struct arrays *a)
{
	const struct cpu_winograd *w = a->w;
	int64_t area = w->out_height * w->out_width;
	struct errors errors = {0, 0};

	for (int64_t i = 0; i < a->outputs; i++) {
		int64_t n = i / area / w->out, k = i / area % w->out;
		double want = sum_of(a, n, k, i % area, false);
		float direct = (float)sum_of(a, n, k, i % area, true);
		double off =
			(double)bf16_to_float(a->output[index_of(w->out, n, k, area, i % area)]) -
			want;

		errors.winograd += off * off;
		off = (double)bf16_to_float(bf16_from_float(direct)) - want;
		errors.direct += off * off;
	}
	return errors;
}

START_TEST(error_is_at_most_twice_the_direct_forms)
{
	struct cpu_winograd w = rows[_i / 2].shape;
	bool data = _i % 2;
	struct arrays a;
	struct errors errors;

	if (data)
		w = cpu_winograd_data(&w);
	a = arrays_new(&w, data);
	run(&a, 1);
	errors = errors_of(&a);
	ck_assert_msg(errors.winograd <= 4 * errors.direct,
		      "%s%s: %g times the direct form's error", rows[_i / 2].name,
		      data ? ", data's gradient" : "", sqrt(errors.winograd / errors.direct));
	arrays_free(&a);
}
END_TEST

START_TEST(threads_do_not_matter)
{
	const struct cpu_winograd *w = &rows[_i].shape;
	struct arrays one = arrays_new(w, false), three = arrays_new(w, false);

	run(&one, 1);
	run(&three, 3);
	ck_assert_mem_eq(one.output, three.output, (size_t)one.outputs * sizeof(*one.output));
	arrays_free(&one);
	arrays_free(&three);
}
END_TEST

/* One NaN reaches the outputs whose tile it is in, ReLU or not. */
START_TEST(a_nan_is_not_lost)
{
	struct arrays a = arrays_new(&rows[_i].shape, false);

	a.input[0] = 0x7fc0;
	run(&a, 1);
	ck_assert(isnan(bf16_to_float(a.output[0])));
	arrays_free(&a);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!cpu_winograd_bf16_here())
		return unit_skip("this processor has no AVX-512 with bfloat16");
	suite = suite_create("winograd-bf16");
	tests = tcase_create("winograd-bf16");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, error_is_at_most_twice_the_direct_forms, 0, 2 * ROWS);
	tcase_add_loop_test(tests, threads_do_not_matter, 0, ROWS);
	tcase_add_loop_test(tests, a_nan_is_not_lost, 0, 2);
	return unit_run(suite);
}
#else
int main(void)
{
	return unit_skip("this is not an x86 processor");
}
#endif
