/* SPDX-License-Identifier: MIT */
/* Models on a device: dead layers, slots, what a model takes. */
#include "fork.h"
#include "model/memory_reuse.h"

START_TEST(dead_layers_have_names)
{
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened();
	struct model *m = made(device, 1, 0, 4);
	const struct model_parameter *aux = &m->shapes.parameters[2];
	float gradient[7 * 16 * 8 * 8];

	ck_assert(!model_all_live(&m->shapes, &fork_spec, &error));
	ck_assert_msg(strstr(error.text, "layer aux does not reach the loss") != NULL, "%s",
		      error.text);
	ck_assert_str_eq(aux->name, "aux.weight");
	set_input(m, 0, 5, BATCH);
	step(m, 0, BATCH, NULL);
	error.status = TRAIN_OK;
	ck_assert(model_read(m, m->gradients, 2, gradient, &error));
	for (size_t i = 0; i < sizeof(gradient) / sizeof(*gradient); i++)
		ck_assert(gradient[i] == 0.0f);
	ck_assert(model_read(m, m->gradients, FC_BIAS, gradient, &error));
	ck_assert(gradient[0] != 0.0f);
	model_close(m);
	backend->close(device);
}
END_TEST

struct seen {
	int layers[8], count;
};

static bool see(void *argument, int layer, struct train_error *error)
{
	struct seen *seen = argument;

	seen->layers[seen->count++] = layer;
	return layer != 3 || seen->count < 8 || train_fail(error, TRAIN_FAILED, "too many");
}

START_TEST(gradients_come_from_the_end)
{
	struct device *device = opened();
	struct model *m = made(device, 1, 0, 4);
	struct seen seen = {.count = 0};
	const struct model_watch watch = {.ready = see, .argument = &seen};

	set_input(m, 0, 5, BATCH);
	step(m, 0, BATCH, &watch);
	ck_assert_int_eq(seen.count, 3);
	ck_assert(seen.layers[0] == 4 && seen.layers[1] == 3 && seen.layers[2] == 0);
	model_close(m);
	backend->close(device);
}
END_TEST

/* Rows that do not count change nothing, whatever is in them. */
START_TEST(a_smaller_batch_leaves_rows_over)
{
	struct device *device = opened();
	struct model *m = made(device, 2, 0, 4);
	int64_t count = m->elements;
	static float kept[20000];
	double loss;

	ck_assert_int_le(count, 20000);
	set_input(m, 0, 5, 4);
	loss = step(m, 0, 4, NULL);
	memcpy(kept, m->gradients, (size_t)count * sizeof(float));
	set_input(m, 1, 9, BATCH);
	set_input(m, 1, 5, 4);
	ck_assert(step(m, 1, 4, NULL) == loss);
	ck_assert_int_eq(memcmp(kept, m->gradients, (size_t)count * sizeof(float)), 0);
	ck_assert(isfinite(loss));
	model_close(m);
	backend->close(device);
}
END_TEST

START_TEST(values_come_back_as_they_went)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct model_spec *spec = model_find("net28", &error);
	const struct model_options options = {2, 1, VALUE_FLOAT32, 0, spec->count - 1, false, 0};
	struct device *device = opened();
	struct model *m;
	static float host[64 * 4608], back[64 * 4608];

	ck_assert(model_open(&m, spec, device, &options, &error));
	for (int p = 0; p < m->shapes.parameters_count; p++) {
		int64_t count = m->shapes.parameters[p].elements;

		for (int64_t i = 0; i < count; i++)
			host[i] = (float)i;
		ck_assert(model_write(m, m->values, p, host, &error));
		ck_assert(model_read(m, m->values, p, back, &error));
		ck_assert_int_eq(memcmp(host, back, (size_t)count * sizeof(*host)), 0);
	}
	model_close(m);
	backend->close(device);
}
END_TEST

/* By hand for 4 inputs, 3 outputs, 2 samples: 15 values and gradients; in a slot input and output;
 * shared by slots the output's gradient, and scratch for 8 doubles. */
START_TEST(bytes_are_as_planned)
{
	static const struct layer layers[] = {{.name = "l", .kind = LAYER_LINEAR, .out = 3}};
	static const struct model_spec spec = {"m", 4, 1, 1, 1, layers};
	const struct model_options options = {2, 3, VALUE_FLOAT32, 0, 0, false, 0};
	const struct device_options where = {.physical = 0, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device, *other;
	struct model *m;

	ck_assert(backend_reference.open(&device, &where, &error));
	ck_assert(backend_reference.open(&other, &where, &error));
	ck_assert(model_open(&m, &spec, device, &options, &error));
	ck_assert_uint_eq(device->bytes,
			  2 * 15 * 4 + 3 * (2 * BUFFER_ALIGNMENT) + 2 * BUFFER_ALIGNMENT);
	ck_assert_uint_eq(other->bytes, 0);
	model_close(m);
	ck_assert_uint_eq(device->bytes, 0);
	backend_reference.close(other);
	backend_reference.close(device);
}
END_TEST

START_TEST(stages_that_cannot_be)
{
	static const struct model_options rows[] = {
		{0, 1, VALUE_FLOAT32, 0, 4, false, 0},  {1, 0, VALUE_FLOAT32, 0, 4, false, 0},
		{1, 1, VALUE_FLOAT32, -1, 4, false, 0}, {1, 1, VALUE_FLOAT32, 3, 2, false, 0},
		{1, 1, VALUE_FLOAT32, 0, 5, false, 0},  {1, 1, VALUE_FLOAT32, 1, 1, false, 0},
	};
	struct device *device = opened();

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model *m = NULL;

		ck_assert(!model_open(&m, &fork_spec, device, &rows[row], &error));
		ck_assert_ptr_null(m);
		ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
	}
	ck_assert_uint_eq(device->bytes, 0);
	backend->close(device);
}
END_TEST

/* A stage has one input and one output. */
START_TEST(stages_do_not_cut_blocks)
{
	static const struct layer layers[] = {
		{.name = "a", .kind = LAYER_CONVOLUTION, .out = 2, .kernel = 1},
		{.name = "b", .kind = LAYER_CONVOLUTION, .out = 2, .kernel = 1},
		{.name = "add", .kind = LAYER_ADD, .from = {"b", "a"}},
		{.name = "fc", .kind = LAYER_LINEAR, .out = 2},
	};
	static const struct model_spec spec = {"m", 1, 4, 4, 4, layers};
	static const struct model_options rows[] = {
		{1, 1, VALUE_FLOAT32, 0, 1, false, 0},
		{1, 1, VALUE_FLOAT32, 2, 3, false, 0},
	};
	struct device *device = opened();

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model *m = NULL;

		ck_assert(!model_open(&m, &spec, device, &rows[row], &error));
		ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
		ck_assert_str_eq(error.text, "model m cannot be cut after layer b: add also reads "
					     "a; cut it elsewhere");
	}
	ck_assert_uint_eq(device->bytes, 0);
	backend->close(device);
}
END_TEST

#ifdef HAVE_DNNL
/* If oneDNN's backend cannot plan a layer, the error names it, and its remedy works. */
START_TEST(layers_that_cannot_be_planned)
{
	static const struct layer layers[] = {
		{.name = "conv", .kind = LAYER_CONVOLUTION, .out = 2, .kernel = 3, .pad = 1},
		{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 16},
		{.name = "fc", .kind = LAYER_LINEAR, .out = 2},
	};
	static const struct model_spec spec = {"m", 1, 16, 16, 3, layers};
	static const char want[] = "model m, layer pool: device 2: max-pooling of 16 x 16";
	const struct model_options options = {2, 1, VALUE_FLOAT32, 0, 2, false, 0};
	const struct device_options where = {.physical = 0, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened();
	struct model *m = NULL;

	ck_assert(!model_open(&m, &spec, device, &options, &error));
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
	ck_assert_msg(strncmp(error.text, want, strlen(want)) == 0 &&
			      strstr(error.text, "use --backend reference") != NULL,
		      "%s", error.text);
	ck_assert_uint_eq(device->bytes, 0);
	backend->close(device);
	error.status = TRAIN_OK;
	ck_assert(backend_reference.open(&device, &where, &error));
	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_close(m);
	backend_reference.close(device);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("model");
	TCase *tests = tcase_create("model");

	drawn_seed();
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, dead_layers_have_names);
	tcase_add_test(tests, gradients_come_from_the_end);
	tcase_add_test(tests, a_smaller_batch_leaves_rows_over);
	tcase_add_test(tests, values_come_back_as_they_went);
	tcase_add_test(tests, bytes_are_as_planned);
	tcase_add_test(tests, stages_that_cannot_be);
	tcase_add_test(tests, stages_do_not_cut_blocks);
#ifdef HAVE_DNNL
	tcase_add_test(tests, layers_that_cannot_be_planned);
#endif
	return unit_run(suite);
}
