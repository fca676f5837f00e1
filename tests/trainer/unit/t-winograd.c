/* SPDX-License-Identifier: MIT */
/* Winograd's convolution against its definition in double, and in any number of threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/team.h"
#include "backend/cpu/winograd.h"
#include "base/simd.h"
#include "unit.h"

#ifdef SIMD_X86

static const struct {
	const char *name;
	struct cpu_winograd shape;
} rows[] = {
	{"whole tiles", {2, 16, 32, 8, 8, 8, 8, 1, false}},
	{"ReLU", {2, 16, 32, 8, 8, 8, 8, 1, true}},
	{"odd sizes", {2, 32, 48, 9, 7, 9, 7, 1, false}},
	{"no padding", {3, 16, 32, 8, 8, 6, 6, 0, false}},
	{"full padding", {1, 32, 16, 5, 16, 7, 18, 2, true}},
	{"one value", {1, 16, 16, 1, 1, 1, 1, 1, false}},
	{"one value of nine", {1, 16, 16, 3, 3, 1, 1, 0, false}},
	{"one row", {2, 16, 16, 1, 23, 1, 23, 1, false}},
	{"more tiles than are taken at once", {33, 16, 16, 8, 5, 8, 5, 1, false}},
};
enum { ROWS = sizeof(rows) / sizeof(*rows), NINE = 9 };

struct arrays {
	float *input, *weight, *bias, *output_gradient;                   /* given */
	float *output, *input_gradient, *weight_gradient, *bias_gradient; /* found */
	int64_t inputs, outputs, weights;
};

static float *memory(size_t bytes)
{
	void *made = aligned_alloc(64, (bytes + 63) / 64 * 64);

	ck_assert_ptr_nonnull(made);
	memset(made, 0x7f, bytes); /* NaNs, were they read */
	return made;
}

static float *numbers(int64_t count, uint32_t seed)
{
	float *made = memory((size_t)count * sizeof(float));

	for (int64_t i = 0; i < count; i++)
		made[i] = (float)((uint32_t)(i + seed) * 2654435761u >> 8) / (1 << 24) - 0.5f;
	return made;
}

static struct arrays arrays_new(const struct cpu_winograd *w)
{
	struct arrays a = {.inputs = w->batch * w->in * w->height * w->width,
			   .outputs = w->batch * w->out * w->out_height * w->out_width,
			   .weights = w->in * NINE * w->out};

	a.input = numbers(a.inputs, 1);
	a.weight = numbers(a.weights, 2);
	a.bias = numbers(w->out, 3);
	a.output_gradient = numbers(a.outputs, 4);
	a.output = memory((size_t)a.outputs * sizeof(float));
	a.input_gradient = memory((size_t)a.inputs * sizeof(float));
	a.weight_gradient = memory((size_t)a.weights * sizeof(float));
	a.bias_gradient = memory((size_t)w->out * sizeof(float));
	return a;
}

static void arrays_free(struct arrays *a)
{
	float *const all[] = {a->input,           a->weight,       a->bias,
			      a->output_gradient, a->output,       a->input_gradient,
			      a->weight_gradient, a->bias_gradient};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]);
}

static void run(const struct cpu_winograd *w, struct arrays *a, int threads)
{
	struct cpu_winograd data = cpu_winograd_data(w);
	struct cpu_team team;
	float *u = memory(cpu_winograd_transformed(w));
	float *u_data = memory(cpu_winograd_transformed(&data));
	float *scratch = memory(cpu_winograd_scratch(w, threads));
	float *scratch_data = memory(cpu_winograd_scratch(&data, threads));
	float *scratch_gradient = memory(cpu_winograd_gradient_scratch(w));

	cpu_team_open(&team, threads);
	cpu_winograd_weights(w, &team, a->weight, false, u);
	cpu_winograd_weights(&data, &team, a->weight, true, u_data);
	cpu_winograd_forward(w, &team,
			     &(struct cpu_winograd_run){a->input, u, a->bias, a->output, scratch});
	cpu_winograd_forward(&data, &team,
			     &(struct cpu_winograd_run){a->output_gradient, u_data, NULL,
							a->input_gradient, scratch_data});
	cpu_winograd_backward_weights(
		w, &team,
		&(struct cpu_winograd_gradient){a->input, a->output_gradient, a->weight_gradient,
						a->bias_gradient, scratch_gradient});
	free(u);
	free(u_data);
	free(scratch);
	free(scratch_data);
	free(scratch_gradient);
}

/* The same by its definition. */
struct sums {
	double *output, *input_gradient, *weight_gradient, *bias_gradient;
};

static int64_t index_of(int64_t channels, int64_t n, int64_t c, int64_t area, int64_t place)
{
	return ((n * channels + c) / 8 * area + place) * 8 + c % 8;
}

/* Adds the terms of output (n, k, y, x) at `to`, and its terms of the gradients. */
static void add_output(const struct cpu_winograd *w, const struct arrays *a, const struct sums *s,
		       const int64_t at[4], int64_t to)
{
	double gradient = (double)a->output_gradient[to];

	for (int64_t i = 0; i < w->in * NINE; i++) {
		int64_t y = at[2] + i % NINE / 3 - w->pad, x = at[3] + i % 3 - w->pad, from;

		if (y < 0 || x < 0 || y >= w->height || x >= w->width)
			continue;
		from = index_of(w->in, at[0], i / NINE, w->height * w->width, y * w->width + x);
		s->output[to] += (double)a->input[from] * (double)a->weight[i * w->out + at[1]];
		s->input_gradient[from] += gradient * (double)a->weight[i * w->out + at[1]];
		s->weight_gradient[i * w->out + at[1]] += gradient * (double)a->input[from];
	}
	s->bias_gradient[at[1]] += gradient;
}

static struct sums sums_of(const struct cpu_winograd *w, const struct arrays *a)
{
	struct sums s = {calloc((size_t)a->outputs, sizeof(double)),
			 calloc((size_t)a->inputs, sizeof(double)),
			 calloc((size_t)a->weights, sizeof(double)),
			 calloc((size_t)w->out, sizeof(double))};
	int64_t area = w->out_height * w->out_width;

	ck_assert(s.output && s.input_gradient && s.weight_gradient && s.bias_gradient);
	for (int64_t i = 0; i < a->outputs; i++) {
		int64_t n = i / area / w->out, k = i / area % w->out, place = i % area;
		int64_t to = index_of(w->out, n, k, area, place);
		const int64_t at[] = {n, k, place / w->out_width, place % w->out_width};

		s.output[to] = (double)a->bias[k];
		add_output(w, a, &s, at, to);
		if (w->relu && s.output[to] < 0)
			s.output[to] = 0;
	}
	return s;
}

static void expect(const char *name, const char *what, const float *got, const double *want,
		   int64_t count)
{
	double max = 1e-3, off = 0;

	for (int64_t i = 0; i < count; i++) {
		max = fmax(max, fabs(want[i]));
		ck_assert_msg(!isnan(got[i]), "%s: %s %d is a NaN", name, what, (int)i);
		off = fmax(off, fabs(want[i] - (double)got[i]));
	}
	ck_assert_msg(off <= 1e-5 * max, "%s: %s is off by %g of %g", name, what, off, max);
}

START_TEST(convolution_by_its_definition)
{
	const struct cpu_winograd *w = &rows[_i].shape;
	struct arrays a = arrays_new(w);
	struct sums want = sums_of(w, &a);

	run(w, &a, 1);
	expect(rows[_i].name, "output", a.output, want.output, a.outputs);
	expect(rows[_i].name, "input gradient", a.input_gradient, want.input_gradient, a.inputs);
	expect(rows[_i].name, "weight gradient", a.weight_gradient, want.weight_gradient,
	       a.weights);
	expect(rows[_i].name, "bias gradient", a.bias_gradient, want.bias_gradient, w->out);
	free(want.output);
	free(want.input_gradient);
	free(want.weight_gradient);
	free(want.bias_gradient);
	arrays_free(&a);
}
END_TEST

START_TEST(threads_do_not_matter)
{
	const struct cpu_winograd *w = &rows[_i].shape;
	struct arrays one = arrays_new(w), three = arrays_new(w);

	run(w, &one, 1);
	run(w, &three, 3);
	ck_assert_mem_eq(one.output, three.output, (size_t)one.outputs * sizeof(float));
	ck_assert_mem_eq(one.input_gradient, three.input_gradient,
			 (size_t)one.inputs * sizeof(float));
	ck_assert_mem_eq(one.weight_gradient, three.weight_gradient,
			 (size_t)one.weights * sizeof(float));
	ck_assert_mem_eq(one.bias_gradient, three.bias_gradient, (size_t)w->out * sizeof(float));
	arrays_free(&one);
	arrays_free(&three);
}
END_TEST

/* One NaN reaches the outputs whose tile it is in, ReLU or not. */
START_TEST(a_nan_is_not_lost)
{
	const struct cpu_winograd *w = &rows[1].shape;
	struct arrays a = arrays_new(w);

	a.input[0] = NAN;
	run(w, &a, 1);
	ck_assert(isnan(a.output[0]));
	ck_assert(isnan(a.weight_gradient[NINE / 2 * w->out]));
	arrays_free(&a);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	/* Also where a processor with AVX-512 leaves it to oneDNN. */
	setenv(SIMD_VARIABLE, "avx2", true);
	if (!cpu_winograd_here())
		return unit_skip("this processor has no AVX2");
	suite = suite_create("winograd");
	tests = tcase_create("winograd");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, convolution_by_its_definition, 0, ROWS);
	tcase_add_loop_test(tests, threads_do_not_matter, 0, ROWS);
	tcase_add_test(tests, a_nan_is_not_lost);
	return unit_run(suite);
}
#else
int main(void)
{
	return unit_skip("this is not an x86 processor");
}
#endif
