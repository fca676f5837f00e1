/* SPDX-License-Identifier: MIT */
/* A model that is cut into stages is the whole one, and both are right. */
#include "fork.h"

/* The gradients in double, and how far from them those of floats may be. */
struct truth {
	double loss, gradients[PARAMETERS][MAX_ELEMENTS], bounds[PARAMETERS][MAX_ELEMENTS];
};

static void read_gradient(struct model *m, int p, double *to)
{
	enum value_type type = value_of_parameters(m->options.type);
	struct train_error error = {.status = TRAIN_OK};
	static double host[MAX_ELEMENTS];

	ck_assert(model_read(m, m->gradients, p, host, &error));
	for (int64_t i = 0; i < m->shapes.parameters[p].elements; i++)
		to[i] = value_get(type, host, i);
}

/*
 * Outputs are exact, so that every ReLU and maximum chooses alike. The first gradient, that of fc's
 * outputs, is rounded once; every other is a sum of products with it. In whatever order it is
 * computed, with FMA or without, a term is rounded at most n times: once for each term of its sum
 * and of the sums that it comes from. Then the error is at most n u / (1 - n u) of the sum of the
 * terms' sizes, u = 2^-24 (N. Higham, Accuracy and Stability of Numerical Algorithms, chapter 3).
 * That sum is what the same pass makes of the sizes of weights, inputs and first gradients.
 */
static void find_truth(struct truth *truth, uint32_t seed)
{
	enum { CLASSES = 5, MID = 24, PLACES = 8 * 8 };
	static const int roundings[PARAMETERS / 2] = {1 + CLASSES + MID + BATCH * PLACES, 0,
						      1 + CLASSES + BATCH, 1 + BATCH};
	struct device *device = opened_by(&backend_reference);
	struct model *m = made_of(device, VALUE_FLOAT64, 1, 0, 4);
	struct train_error error = {.status = TRAIN_OK};
	double *input = model_input(m, 0), *first = model_output_gradient(m);

	set_input(m, 0, seed, BATCH);
	truth->loss = step(m, 0, BATCH, NULL);
	for (int p = 0; p < PARAMETERS; p++)
		read_gradient(m, p, truth->gradients[p]);
	forward(m, 0, BATCH);
	for (int i = 0; i < BATCH * CLASSES; i++)
		first[i] = fabs(first[i]);
	for (int i = 0; i < BATCH * SAMPLE; i++)
		input[i] = fabs(input[i]);
	set_parameters(m, true);
	ck_assert(model_backward(m, 0, NULL, NULL, &error));
	for (int p = 0; p < PARAMETERS; p++) {
		double n = roundings[p / 2] * 0x1p-24;

		read_gradient(m, p, truth->bounds[p]);
		for (int64_t i = 0; i < m->shapes.parameters[p].elements; i++)
			truth->bounds[p][i] *= n / (1.0 - n);
	}
	model_close(m);
	backend_reference.close(device);
}

/* Compares in PyTorch's order: a layer with another layout of inputs may have one of weights. */
static void true_gradient(const struct truth *truth, struct model *m, int p)
{
	static double got[MAX_ELEMENTS];
	const struct model_parameter *at = &m->shapes.parameters[p];

	read_gradient(m, p, got);
	for (int64_t i = 0; i < at->elements; i++)
		ck_assert_msg(fabs(got[i] - truth->gradients[p][i]) <= truth->bounds[p][i],
			      "%s, %d: %.9g, not %.9g, is off by more than %.2g", at->name, (int)i,
			      got[i], truth->gradients[p][i], truth->bounds[p][i]);
}

/* Cut before layer _i, on two devices with two micro-batches in flight, it is as in one piece. */
START_TEST(stages_are_the_whole)
{
	struct device *one = opened(), *two = opened();
	struct model *whole = made(one, 2, 0, 4), *a = made(one, 2, 0, _i - 1);
	struct model *b = made(two, 2, _i, 4);
	struct train_error error = {.status = TRAIN_OK};
	static struct truth truth;
	int64_t count_a = a->elements;

	ck_assert_int_eq(b->first_element, count_a);
	for (int slot = 0; slot < 2; slot++) {
		set_input(a, slot, 5 + (uint32_t)slot, BATCH);
		ck_assert(model_forward(a, slot, NULL, &error));
		ck_assert_uint_eq(model_output_bytes(a), b->input.bytes);
		ck_assert(backend->copy(two, model_input(b, slot), one, model_output(a, slot),
					model_output_bytes(a), &error));
	}
	for (int slot = 0; slot < 2; slot++) {
		find_truth(&truth, 5 + (uint32_t)slot);
		set_input(whole, slot, 5 + (uint32_t)slot, BATCH);
		ck_assert_double_eq(step(whole, slot, BATCH, NULL), truth.loss);
		ck_assert_double_eq(step(b, slot, BATCH, NULL), truth.loss);
		ck_assert(backend->copy(one, model_output_gradient(a), two, model_input_gradient(b),
					b->input.bytes, &error));
		ck_assert(model_backward(a, slot, NULL, NULL, &error));
		for (int p = 0; p < whole->shapes.parameters_count; p++) {
			bool in_a = whole->shapes.parameters[p].offset < count_a;

			true_gradient(&truth, whole, p);
			true_gradient(&truth, in_a ? a : b, p);
		}
	}
	ck_assert_ptr_null(model_input_gradient(whole));
	model_close(b);
	model_close(a);
	model_close(whole);
	ck_assert_uint_eq(one->bytes + two->bytes, 0);
	backend->close(two);
	backend->close(one);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model-stages");
	TCase *tests = tcase_create("model-stages");

	drawn_seed();
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, stages_are_the_whole, 2, 5);
	return unit_run(suite);
}
