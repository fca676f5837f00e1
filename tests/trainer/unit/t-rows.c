/* SPDX-License-Identifier: MIT */
/* Rows of a batch that do not count change nothing where batches are normalized, whatever is in
 * them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "model/model.h"
#include "stage.h"

/* So deep that what a division by nearly nothing makes larger would be infinite at the end. */
enum { DEPTH = 24, LAYERS = 2 * DEPTH + 2, CHANNELS = 3, SIDE = 2, BATCH = 4 };
enum { SAMPLE = CHANNELS * SIDE * SIDE, MAX_ELEMENTS = 1 << 14 };

static const struct {
	const char *name;
	enum value_type type;
	int rows;
} cases[] = {
	{"no row", VALUE_FLOAT32, 0},           {"one row", VALUE_FLOAT32, 1},
	{"all but one", VALUE_FLOAT32, 3},      {"no row of bf16", VALUE_BFLOAT16, 0},
	{"one row of bf16", VALUE_BFLOAT16, 1},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

static void make_layers(struct layer layers[LAYERS])
{
	static char names[LAYERS][8];

	for (int i = 0; i < LAYERS; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		layers[i] = i % 2 ? (struct layer){.kind = LAYER_BATCH_NORM, .relu = true}
				  : (struct layer){.kind = LAYER_CONVOLUTION,
						   .out = 5,
						   .kernel = 3,
						   .pad = 1,
						   .no_bias = true};
		layers[i].name = names[i];
	}
	layers[LAYERS - 2] = (struct layer){.name = "pool", .kind = LAYER_MEAN_POOL};
	layers[LAYERS - 1] = (struct layer){.name = "fc", .kind = LAYER_LINEAR, .out = 3};
}

static void fill(struct model *m, int rows, float rest)
{
	float *values = m->values, *input = model_input(m, 0);
	int64_t count = m->elements;
	struct train_error error = {.status = TRAIN_OK};

	for (int64_t i = 0; i < count; i++)
		values[i] = (float)stage_number(i, 1);
	for (int64_t i = 0; i < BATCH * SAMPLE; i++)
		input[i] = (float)stage_number(i, 2) * (i < rows * SAMPLE ? 1.0f : rest);
	ck_assert_msg(model_prepare(m, false, &error), "%s", error.text);
}

/* The gradients of a step of so many rows; the others are random numbers times `rest`. */
static int64_t run(const struct backend *backend, int row, float rest, float *gradients)
{
	static const int32_t labels[BATCH] = {0, 1, 2, 1};
	const struct pass_control control = {.rows = cases[row].rows, .scale = 1.0f};
	struct layer layers[LAYERS];
	const struct model_spec spec = {"deep", CHANNELS, SIDE, SIDE, LAYERS, layers};
	const struct model_options options = {
		.batch = BATCH, .slots = 1, .type = cases[row].type, .last = LAYERS - 1};
	const struct model_pass how = {&control, true};
	struct loss_result result = {0, 0};
	const struct model_loss loss = {labels, &control, &result, true, NULL, true};
	struct device *device = opened_with(backend, 1);
	struct train_error error = {.status = TRAIN_OK};
	int64_t count;
	struct model *m;

	make_layers(layers);
	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	count = m->elements;
	ck_assert_int_le(count, MAX_ELEMENTS);
	fill(m, cases[row].rows, rest);
	ck_assert_msg(model_forward(m, 0, &how, &error) && model_loss(m, 0, &loss, &error) &&
			      model_backward(m, 0, &control, NULL, &error),
		      "%s", error.text);
	memcpy(gradients, m->gradients, (size_t)count * sizeof(*gradients));
	model_close(m);
	backend->close(device);
	return count;
}

START_TEST(rows_that_do_not_count_change_no_gradient)
{
	const struct backend *backend = backends[_i / CASES];
	int row = _i % CASES;
	static float gradients[MAX_ELEMENTS], others[MAX_ELEMENTS];
	struct device *device = opened_with(backend, 1);
	bool can = backend->has_type(device, cases[row].type);
	int64_t count, other = 0;

	backend->close(device);
	if (!can)
		return;
	count = run(backend, row, 1.0f, gradients);
	run(backend, row, 1000.0f, others);
	for (int64_t i = 0; i < count; i++) {
		ck_assert_msg(gradients[i] == others[i],
			      "%s, %s: gradient %d is %g, and %g with other rows that do not count",
			      backend->name, cases[row].name, (int)i, (double)gradients[i],
			      (double)others[i]);
		other += gradients[i] != 0.0f;
	}
	ck_assert_msg((other > 0) == (cases[row].rows > 0), "%s, %s: %d gradients are not zero",
		      backend->name, cases[row].name, (int)other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rows");
	TCase *tests = tcase_create("rows");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, rows_that_do_not_count_change_no_gradient, 0, BACKENDS * CASES);
	return unit_run(suite);
}
