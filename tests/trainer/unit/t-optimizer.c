/* SPDX-License-Identifier: MIT */
/* The optimizers: bits of PyTorch, parts and state. Built a second time with
 * the functions for any processor. */
#include <math.h>
#include <string.h>

#include "kernels/bf16.h"
#include "optim/optimizer.h"
#include "kernels/scaler.h"
#include "unit.h"

enum { SMALL = 11, STEPS = 3 };

static float weight_at(int64_t i)
{
	return (float)(i * 37 % 23 - 11) / 8;
}

static float gradient_at(int64_t i, int step)
{
	return (float)((i * 53 + step * 19) % 29 - 14) / 16;
}

static struct optimizer_step plain_step(double lr, double momentum)
{
	return (struct optimizer_step){{lr, momentum}, 1, 1};
}

struct problem {
	float *weights, *gradients, *states[OPTIMIZER_MAX_STATES];
	struct optimizer_param param;
};

static struct problem problem_of(int64_t n)
{
	struct problem p = {
		malloc(((size_t)n + 1) * sizeof(float)),
		malloc(((size_t)n + 1) * sizeof(float)),
		{calloc((size_t)n + 1, sizeof(float)), calloc((size_t)n + 1, sizeof(float))},
		{.elements = n}};

	ck_assert(p.weights && p.gradients && p.states[0] && p.states[1]);
	for (int64_t i = 0; i < n; i++)
		p.weights[i] = weight_at(i);
	p.param = (struct optimizer_param){.weight = p.weights,
					   .elements = n,
					   .state = {p.states[0], p.states[1]},
					   .gradient = p.gradients};
	return p;
}

static void problem_free(struct problem *p)
{
	free(p->weights);
	free(p->gradients);
	free(p->states[0]);
	free(p->states[1]);
}

static struct optimizer *optimizer_of(const struct optimizer_settings *settings, struct problem *p)
{
	return optimizer_new(settings, &p->param, 1);
}

static void make_step(struct optimizer *optimizer, struct problem *p, int step, int parts,
		      const struct optimizer_step *how)
{
	for (int64_t i = 0; i < p->param.elements; i++)
		p->gradients[i] = gradient_at(i, step) / how->inv_scale;
	optimizer_begin(optimizer, how);
	for (int part = parts - 1; part >= 0; part--)
		optimizer_part(optimizer, part, parts);
}

/* Three steps of PyTorch 1.13 on a processor with AVX2. */
static const struct {
	const char *name;
	struct optimizer_settings settings;
	double lr;
	uint32_t weights[SMALL];
} torch_steps[] = {
	{"SGD",
	 {OPTIMIZER_SGD, 0, 0, 0, 0, false},
	 0.1,
	 {0xbfa4cccd, 0x3ec00000, 0xbf566666, 0x3f80cccd, 0xbe533334, 0xbf9e6666, 0x3ed99999,
	  0xbf1b3332, 0x3f873334, 0x3cccccce, 0xbf97ffff}},
	{"SGD with momentum and decay",
	 {OPTIMIZER_SGD, 0.9, 0, 0, 5e-4, false},
	 0.1,
	 {0xbf953358, 0x3e893b74, 0xbf5cd335, 0x3f87f6b5, 0xbe6d15f0, 0xbf972802, 0x3e8168cb,
	  0xbf325623, 0x3f86020b, 0x3dc7cc6d, 0xbf991cac}},
	{"SGD with Nesterov's momentum",
	 {OPTIMIZER_SGD, 0.9, 0, 0, 0, true},
	 0.1,
	 {0xbf8cb924, 0x3e8ec083, 0xbf70645a, 0x3f880000, 0xbe9ab439, 0xbf967ae1, 0x3e4f731b,
	  0xbf2bbedf, 0x3f7c7c84, 0x3de706f4, 0xbfa03c9f}},
	{"Adam",
	 {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, 0, false},
	 1e-3,
	 {0xbfafc2f1, 0x3ebf305c, 0xbf406242, 0x3f801862, 0xbdfffe38, 0xbf9fddad, 0x3efede1c,
	  0xbf205a3e, 0x3f8fd815, 0x3afccc50, 0xbf8ffa44}},
	{"Adam with decay",
	 {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, 0.1, false},
	 1e-3,
	 {0xbfafb8fa, 0x3ebf2163, 0xbf404c2b, 0x3f7fd8d6, 0xbdffed43, 0xbf9fcf1b, 0x3efed293,
	  0xbf204b3b, 0x3f8fc7c0, 0x3afcc5a8, 0xbf8fee4b}},
	{"AdamW",
	 {OPTIMIZER_ADAMW, 0.9, 0.999, 1e-8, 0.1, false},
	 1e-3,
	 {0xbfafb56e, 0x3ebf21a6, 0xbf405380, 0x3f800e8d, 0xbdffeaa3, 0xbf9fd164, 0x3efeca7d,
	  0xbf204df0, 0x3f8fcd07, 0x3afcc2e9, 0xbf8fef36}},
};
enum { TORCH_STEPS = sizeof(torch_steps) / sizeof(*torch_steps) };

static void expect_weights(int row, float inv_scale, const char *what)
{
	struct problem p = problem_of(SMALL);
	struct optimizer *optimizer = optimizer_of(&torch_steps[row].settings, &p);
	struct optimizer_step how =
		plain_step(torch_steps[row].lr, torch_steps[row].settings.momentum);

	how.inv_scale = inv_scale;
	for (int step = 0; step < STEPS; step++)
		make_step(optimizer, &p, step, 1, &how);
	for (int i = 0; i < SMALL; i++)
		ck_assert_msg(float_bits(p.weights[i]) == torch_steps[row].weights[i],
			      "%s, %s: weight %d is %a, not %a", torch_steps[row].name, what, i,
			      (double)p.weights[i],
			      (double)bits_float(torch_steps[row].weights[i]));
	optimizer_free(optimizer);
	problem_free(&p);
}

START_TEST(steps_as_pytorch)
{
	expect_weights(_i, 1, "unchanged");
	expect_weights(_i, 1 / 65536.0f, "unscaled");
}
END_TEST

/* Every size around a vector and a block, in any number of parts. */
START_TEST(parts_do_not_matter)
{
	static const int64_t sizes[] = {0, 1, 7, 8, 9, 16, 17, 63, 64, 65, 1023, 1024, 1025, 5000};
	struct optimizer_step how = {{0.01, 0.9}, 0.125f, 0.7f};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (int parts = 2; parts <= 7; parts++) {
			int64_t n = sizes[s];
			struct problem a = problem_of(n), b = problem_of(n);
			struct optimizer *one = optimizer_of(&torch_steps[_i].settings, &a);
			struct optimizer *many = optimizer_of(&torch_steps[_i].settings, &b);

			for (int step = 0; step < STEPS; step++) {
				make_step(one, &a, step, 1, &how);
				make_step(many, &b, step, parts, &how);
			}
			for (int64_t i = 0; i < n; i++)
				ck_assert_uint_eq(float_bits(a.weights[i]),
						  float_bits(b.weights[i]));
			optimizer_free(one);
			optimizer_free(many);
			problem_free(&a);
			problem_free(&b);
		}
}
END_TEST

START_TEST(each_is_tried)
{
	int row = 0;

	while (row < TORCH_STEPS && torch_steps[row].settings.kind != (enum optimizer_kind)_i)
		row++;
	ck_assert_msg(row < TORCH_STEPS, "%s: has no row in torch_steps", optimizer_rows[_i].word);
}
END_TEST

/* Gradients are multiplied by both factors, one after the other. */
START_TEST(clipping_is_folded_in)
{
	struct optimizer_settings sgd = optimizer_rows[OPTIMIZER_SGD].initial;
	struct problem p = problem_of(SMALL);
	struct optimizer *optimizer = optimizer_of(&sgd, &p);
	struct optimizer_step how = {{0.1, 0}, 1 / 3.0f, 0.7f};

	make_step(optimizer, &p, 0, 1, &how);
	for (int i = 0; i < SMALL; i++)
		ck_assert_float_eq(p.weights[i], fmaf(p.gradients[i] * how.inv_scale * how.clip,
						      -0.1f, weight_at(i)));
	optimizer_free(optimizer);
	problem_free(&p);
}
END_TEST

/* What a checkpoint does: states, and the number of steps, into a new optimizer. */
START_TEST(state_resumes)
{
	const struct optimizer_settings *settings = &torch_steps[_i].settings;
	struct optimizer_step how = plain_step(0.01, settings->momentum);
	struct problem a = problem_of(100), b = problem_of(100);
	struct optimizer *first = optimizer_of(settings, &a), *second = optimizer_of(settings, &b);

	for (int step = 0; step < 5; step++)
		make_step(first, &a, step, 1, &how);
	memcpy(b.weights, a.weights, 100 * sizeof(float));
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++) {
		ck_assert_int_eq(a.states[k][3] != 0, optimizer_state_name(settings, k) != NULL);
		memcpy(b.states[k], a.states[k], 100 * sizeof(float));
	}
	optimizer_set_steps(second, 5);
	for (int step = 5; step < 8; step++) {
		make_step(first, &a, step, 1, &how);
		make_step(second, &b, step, 1, &how);
	}
	ck_assert_mem_eq(a.weights, b.weights, 100 * sizeof(float));
	optimizer_free(first);
	optimizer_free(second);
	problem_free(&a);
	problem_free(&b);
}
END_TEST

START_TEST(names_of_states)
{
	struct optimizer_settings sgd = optimizer_rows[OPTIMIZER_SGD].initial;
	struct optimizer_settings adam = optimizer_rows[OPTIMIZER_ADAM].initial;
	struct optimizer_settings adamw = optimizer_rows[OPTIMIZER_ADAMW].initial;

	ck_assert_ptr_null(optimizer_state_name(&sgd, 0));
	sgd.momentum = 0.9;
	ck_assert_str_eq(optimizer_state_name(&sgd, 0), "momentum_buffer");
	ck_assert_ptr_null(optimizer_state_name(&sgd, 1));
	ck_assert_str_eq(optimizer_state_name(&adam, 0), "exp_avg");
	ck_assert_str_eq(optimizer_state_name(&adamw, 0), "exp_avg");
	ck_assert_str_eq(optimizer_state_name(&adamw, 1), "exp_avg_sq");
	ck_assert_ptr_null(optimizer_state_name(&adam, OPTIMIZER_MAX_STATES));
	ck_assert_ptr_null(optimizer_state_name(&adam, -1));
}
END_TEST

/* Not even decay touches a parameter that has no gradient. */
START_TEST(unused_parameters_stay)
{
	struct optimizer_settings settings = optimizer_rows[OPTIMIZER_ADAMW].initial;
	struct problem a = problem_of(20), b = problem_of(20);
	struct optimizer_param params[] = {a.param, b.param};
	struct optimizer_step how = plain_step(0.1, 0.9);
	struct optimizer *optimizer;

	params[0].gradient = NULL;
	optimizer = optimizer_new(&settings, params, 2);
	make_step(optimizer, &b, 0, 2, &how);
	for (int i = 0; i < 20; i++)
		ck_assert_float_eq(a.weights[i], weight_at(i));
	ck_assert_float_ne(b.weights[1], weight_at(1));
	a.gradients[0] = NAN;
	ck_assert_float_eq(optimizer_norm(optimizer, 0, 1), 0);
	ck_assert_float_eq(optimizer_norm(optimizer, 1, 2), 2 * optimizer_norm(optimizer, 1, 1));
	ck_assert_float_gt(optimizer_norm(optimizer, 1, 1), 0);
	ck_assert(optimizer_finite(optimizer, 1, 0, 1));
	b.gradients[19] = INFINITY;
	ck_assert(isinf(optimizer_norm(optimizer, 1, 1)));
	ck_assert(!optimizer_finite(optimizer, 1, 0, 1));
	ck_assert(optimizer_finite(optimizer, 1, 0, 2)); /* the first 16 */
	ck_assert(!optimizer_finite(optimizer, 1, 1, 2));
	optimizer_free(optimizer);
	problem_free(&a);
	problem_free(&b);
}
END_TEST

/* A stage of a model may have no parameters at all. */
START_TEST(no_parameters)
{
	struct optimizer_settings settings = optimizer_rows[OPTIMIZER_ADAM].initial;
	struct optimizer_step how = plain_step(0.1, 0.9);
	struct optimizer *optimizer = optimizer_new(&settings, NULL, 0);

	optimizer_begin(optimizer, &how);
	optimizer_part(optimizer, 0, 1);
	ck_assert(optimizer_finite(optimizer, 1, 0, 1));
	optimizer_free(optimizer);
	optimizer_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("optimizer");
	TCase *tests = tcase_create("optimizer");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, steps_as_pytorch, 0, TORCH_STEPS);
	tcase_add_loop_test(tests, parts_do_not_matter, 0, TORCH_STEPS);
	tcase_add_loop_test(tests, each_is_tried, 0, OPTIMIZERS);
	tcase_add_test(tests, clipping_is_folded_in);
	tcase_add_loop_test(tests, state_resumes, 0, TORCH_STEPS);
	tcase_add_test(tests, names_of_states);
	tcase_add_test(tests, unused_parameters_stay);
	tcase_add_test(tests, no_parameters);
	return unit_run(suite);
}
