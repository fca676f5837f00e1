/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels of a pass against what the CPU trains with: batch_fill(), and the
 * loss of the reference backend.
 */
#include "backend/backend.h"
#include "data/batch.h"
#include "kernels.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *name;
	struct dataset_shape shape;
	struct batch_options options;
	int32_t padded, rows;
} fills[] = {
	{"CIFAR-10", {3, 32, 32}, {32, 32, false, 0}, 8, 6},
	{"augmented", {3, 32, 32}, {32, 32, true, 0x123456789abcdef}, 8, 6},
	{"the middle, augmented", {3, 32, 32}, {28, 28, true, 2}, 4, 6},
	{"rows left over", {3, 32, 32}, {32, 32, true, 3}, 8, 4},
	{"no rows", {3, 8, 8}, {8, 8, true, 3}, 8, 0},
	{"more rows than there is room", {3, 8, 8}, {8, 8, false, 0}, 3, 100},
	{"odd sides", {2, 7, 5}, {4, 3, true, 3}, 5, 5},
	{"smaller than the padding", {1, 2, 3}, {2, 3, true, 4}, 1, 6},
	{"a vector", {1024, 1, 1}, {1, 1, false, 0}, 1024, 3},
};
enum { BATCH = 6, SAMPLES = 20 };
static const int64_t indices[BATCH] = {3, 19, 0, 3, 7, 11};

static void expect_images(int row, const struct array *got, const float *want, int64_t rows)
{
	const struct batch_options *o = &fills[row].options;
	int64_t padded = fills[row].padded, channels = fills[row].shape.channels;
	int64_t places = (int64_t)o->height * o->width;

	for (int64_t i = 0; i < BATCH * places * padded; i++) {
		int64_t c = i % padded, place = i / padded % places, n = i / padded / places;
		float one;

		memset(&one, POISON, sizeof(one));
		if (n < rows)
			value_set(got->type, &one, 0,
				  c < channels ? (double)want[(n * channels + c) * places + place]
					       : 0);
		if (!same_value(array_get(got, i), value_get(got->type, &one, 0)))
			ck_abort_msg("%s: value %lld", fills[row].name, (long long)i);
	}
}

START_TEST(fills_as_a_batch)
{
	int row = _i / TYPES;
	enum value_type type = value_types[_i % TYPES];
	const struct batch_options *o = &fills[row].options;
	const struct dataset_synthetic of = {
		.shape = fills[row].shape, .classes = 10, .samples = SAMPLES, .seed = 5};
	const struct pass_control control = {9, fills[row].rows, 1};
	int64_t pixels = (int64_t)of.shape.channels * o->height * o->width;
	int64_t rows = control.rows < BATCH ? control.rows : BATCH;
	struct array want = array_new(VALUE_FLOAT32, BATCH * pixels), images;
	int32_t labels[BATCH], want_labels[BATCH];
	struct train_error error = {.status = TRAIN_OK};
	struct input_fill_args args;
	struct dataset d;

	ck_assert_msg(dataset_make(&d, &of, &error), "%s", error.text);
	images = array_new(type, BATCH * (int64_t)o->height * o->width * fills[row].padded);
	memset(labels, POISON, sizeof(labels));
	memset(want_labels, POISON, sizeof(labels));
	args = (struct input_fill_args){.records = d.records,
					.values = d.values,
					.indices = indices,
					.control = &control,
					.images = images.values,
					.labels = labels,
					.batch = BATCH,
					.type = type,
					.channels = d.shape.channels,
					.padded = fills[row].padded,
					.from_height = d.shape.height,
					.from_width = d.shape.width,
					.height = o->height,
					.width = o->width,
					.augment = o->augment,
					.seed = o->seed};
	reference_input_fill(&args);
	batch_fill(want.values, want_labels, &d, o, control.epoch, indices, rows);
	expect_images(row, &images, want.values, rows);
	ck_assert_msg(memcmp(labels, want_labels, sizeof(labels)) == 0, "%s", fills[row].name);
	array_free(&images, fills[row].name);
	array_free(&want, fills[row].name);
	dataset_free(&d);
}
END_TEST

static const struct {
	const char *name;
	int64_t batch;
	int32_t rows, classes, pitch;
	bool gradient, in_place, bad, overwrite;
} losses[] = {
	{"CIFAR-10", 9, 9, 10, 10, true, false, false, false},
	{"padded rows", 9, 9, 10, 16, true, false, false, false},
	{"in place", 9, 9, 10, 16, true, true, false, false},
	{"rows left over", 9, 5, 10, 10, true, true, false, false},
	{"no rows", 4, 0, 3, 4, true, false, false, false},
	{"more rows than there are", 4, 9, 3, 3, true, false, false, false},
	{"without a gradient", 9, 9, 7, 8, false, false, false, false},
	{"one class", 5, 5, 1, 1, true, false, false, false},
	{"many classes", 3, 3, 100, 104, true, true, false, false},
	{"not finite", 12, 12, 5, 8, true, false, true, false},
	{"the first of a step", 9, 5, 10, 16, true, false, false, true},
	{"the first, with no rows", 4, 0, 3, 4, true, false, false, true},
};

static void spoil(struct array *logits, int row)
{
	static const float bad[] = {NAN, INFINITY, -INFINITY};

	for (int64_t n = 0; n < losses[row].batch; n++)
		value_set(logits->type, logits->values,
			  n * losses[row].classes + n % losses[row].classes, (double)bad[n % 3]);
}

/* The reference backend's, whose rows are dense. */
static struct loss_result backend_loss(int row, const struct array *logits, const int32_t *labels,
				       const struct pass_control *control, void *gradient)
{
	const struct device_options options = {.threads = 1};
	struct layout layout =
		layout_host(logits->type, losses[row].batch, losses[row].classes, 1, 1);
	struct train_error error = {.status = TRAIN_OK};
	struct loss_result result = {10, 3};
	const struct op_args args = {.input = logits->values,
				     .labels = labels,
				     .control = control,
				     .result = &result,
				     .input_gradient = gradient,
				     .overwrite = losses[row].overwrite};
	struct device *device;
	struct op *op;

	ck_assert(backend_reference.open(&device, &options, &error));
	ck_assert(backend_reference.loss(&op, device, &layout, &error));
	ck_assert(op->calls->forward(op, &args, &error));
	op_free(op);
	backend_reference.close(device);
	return result;
}

static struct array with_pitch(const struct array *dense, int row)
{
	int64_t classes = losses[row].classes, pitch = losses[row].pitch;
	struct array to = array_new(dense->type, losses[row].batch * pitch);

	for (int64_t i = 0; i < dense->count; i++)
		value_set(to.type, to.values, i / classes * pitch + i % classes,
			  array_get(dense, i));
	return to;
}

static void expect_gradient(int row, const struct array *got, const struct array *want)
{
	int64_t classes = losses[row].classes, pitch = losses[row].pitch;

	for (int64_t i = 0; i < got->count; i++) {
		double value =
			i % pitch < classes ? array_get(want, i / pitch * classes + i % pitch) : 0;

		if (!same_value(array_get(got, i), value))
			ck_abort_msg("%s: gradient %lld is %g, not %g", losses[row].name,
				     (long long)i, array_get(got, i), value);
	}
}

START_TEST(losses_as_the_backend)
{
	int row = _i / TYPES;
	enum value_type type = value_types[_i % TYPES];
	const struct pass_control control = {0, losses[row].rows, 0.25f};
	struct loss_result want, got = {10, 3};
	struct random_generator random;
	struct array dense, want_gradient, logits, gradient;
	struct cross_entropy_args args;
	int32_t labels[12];

	random_seed(&random, 31);
	dense = array_random(type, losses[row].batch * losses[row].classes, &random);
	if (losses[row].bad)
		spoil(&dense, row);
	for (int i = 0; i < 12; i++) /* two of them are no classes */
		labels[i] = i == 3 ? -1 : i == 4 ? losses[row].classes : i % losses[row].classes;
	logits = with_pitch(&dense, row);
	gradient = array_new(type, logits.count);
	want_gradient = array_new(type, dense.count);
	want = backend_loss(row, &dense, labels, &control, want_gradient.values);
	args = (struct cross_entropy_args){.logits = logits.values,
					   .labels = labels,
					   .control = &control,
					   .result = &got,
					   .gradient = losses[row].in_place ? logits.values
									    : gradient.values,
					   .batch = losses[row].batch,
					   .classes = losses[row].classes,
					   .pitch = losses[row].pitch,
					   .type = type,
					   .overwrite = losses[row].overwrite};
	if (!losses[row].gradient)
		args.gradient = NULL;
	reference_cross_entropy(&args);
	ck_assert_msg(same_value(got.loss, want.loss), "%s: loss %.17g, not %.17g",
		      losses[row].name, got.loss, want.loss);
	ROW_EQ_INT(losses[row].name, got.correct, want.correct);
	if (losses[row].gradient)
		expect_gradient(row, losses[row].in_place ? &logits : &gradient, &want_gradient);
	array_free(&dense, losses[row].name);
	array_free(&logits, losses[row].name);
	array_free(&gradient, losses[row].name);
	array_free(&want_gradient, losses[row].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels of a pass");
	TCase *tests = tcase_create("kernels of a pass");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, fills_as_a_batch, 0, ROWS(fills) * TYPES);
	tcase_add_loop_test(tests, losses_as_the_backend, 0, ROWS(losses) * TYPES);
	return unit_run(suite);
}
