/* SPDX-License-Identifier: MIT */
/* The references of pooling against the pooling of the reference backend, whose order is NCHW. */
#include "backend/backend.h"
#include "kernels.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *name;
	int64_t batch;
	int32_t channels, height, width, kernel;
} pools[] = {
	{"halves", 2, 8, 6, 4, 2},     {"a rest at the end", 3, 5, 7, 9, 2},
	{"thirds", 1, 3, 9, 11, 3},    {"all of it", 2, 16, 4, 4, 4},
	{"one by one", 2, 4, 3, 3, 1}, {"the greatest window", 1, 2, 17, 16, 16},
};

/* Between the backend's order, NCHW, and NHWC. */
static void reorder(const struct array *to, const struct array *from, int row, bool output,
		    bool to_nhwc)
{
	int32_t kernel = output ? pools[row].kernel : 1;
	const struct reorder_args args = {.from = from->values,
					  .to = to->values,
					  .from_type = from->type,
					  .to_type = to->type,
					  .batch = pools[row].batch,
					  .channels = pools[row].channels,
					  .height = pools[row].height / kernel,
					  .width = pools[row].width / kernel,
					  .padded = pools[row].channels,
					  .to_nhwc = to_nhwc};

	reference_reorder(&args);
}

struct pooling {
	struct device *device;
	struct op *op;
	struct array input, output, gradient, input_gradient; /* NCHW */
	void *workspace, *scratch;
};

/* Values with ties, zeros and, with `bad`, NaN and infinities. */
static struct pooling pooling_new(int row, enum value_type type, bool relu, bool bad)
{
	const struct device_options options = {.threads = 1};
	const struct op_shape shape = {.input = layout_host(type, pools[row].batch,
							    pools[row].channels, pools[row].height,
							    pools[row].width),
				       .kernel = pools[row].kernel,
				       .stride = pools[row].kernel,
				       .relu_backward = relu};
	struct train_error error = {.status = TRAIN_OK};
	struct random_generator random;
	struct pooling p;

	ck_assert(backend_reference.open(&p.device, &options, &error));
	ck_assert(backend_reference.max_pool(&p.op, p.device, &shape, &error));
	random_seed(&random, 21);
	p.input = array_random(type, layout_values(&shape.input), &random);
	for (int64_t i = 0; bad && i < p.input.count; i += 3)
		value_set(type, p.input.values, i, (double)(i % 2 ? NAN : -INFINITY));
	p.output = array_new(type, layout_values(&p.op->info.output));
	p.gradient = array_random(type, p.output.count, &random);
	p.input_gradient = array_new(type, p.input.count);
	p.workspace = malloc(p.op->info.workspace);
	p.scratch = malloc(p.op->info.scratch);
	ck_assert(p.workspace && p.scratch);
	return p;
}

static void pooling_run(struct pooling *p)
{
	const struct op_args args = {.input = p->input.values,
				     .output = p->output.values,
				     .workspace = p->workspace,
				     .scratch = p->scratch,
				     .output_gradient = p->gradient.values,
				     .input_gradient = p->input_gradient.values};
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(p->op->calls->forward(p->op, &args, &error));
	ck_assert(p->op->calls->backward_data(p->op, &args, &error));
}

static void pooling_free(struct pooling *p, const char *name)
{
	op_free(p->op);
	backend_reference.close(p->device);
	array_free(&p->input, name);
	array_free(&p->output, name);
	array_free(&p->gradient, name);
	array_free(&p->input_gradient, name);
	free(p->workspace);
	free(p->scratch);
}

static void expect_same(const char *name, const char *what, const struct array *got,
			const struct array *want)
{
	ROW_EQ_INT(name, got->count, want->count);
	for (int64_t i = 0; i < got->count; i++)
		if (!same_value(array_get(got, i), array_get(want, i)))
			ck_abort_msg("%s: %s %lld is %g, not %g", name, what, (long long)i,
				     array_get(got, i), array_get(want, i));
}

/* The arrays of the kernels. */
struct pooled {
	struct array input, output, gradient, input_gradient, sums; /* NHWC */
	uint8_t *places;
};

static struct pooled pooled_run(const struct pooling *p, int row, bool relu)
{
	int32_t c = pools[row].channels, h = pools[row].height, w = pools[row].width;
	enum value_type type = p->input.type;
	struct pooled r = {array_new(type, p->input.count),  array_new(type, p->output.count),
			   array_new(type, p->output.count), array_new(type, p->input.count),
			   array_new(VALUE_FLOAT32, c),      malloc((size_t)p->output.count)};
	const struct max_pool_shape shape = {.batch = pools[row].batch,
					     .height = h,
					     .width = w,
					     .channels = c,
					     .out_height = h / pools[row].kernel,
					     .out_width = w / pools[row].kernel,
					     .kernel = pools[row].kernel,
					     .stride = pools[row].kernel,
					     .type = type};
	const struct max_pool_args forward = {shape, r.input.values, r.output.values, r.places};
	const struct max_pool_backward_args backward = {.shape = shape,
							.output_gradient = r.gradient.values,
							.output = relu ? r.output.values : NULL,
							.places = r.places,
							.input_gradient = r.input_gradient.values,
							.sums = r.sums.values};

	ck_assert_ptr_nonnull(r.places);
	reorder(&r.input, &p->input, row, false, true);
	reorder(&r.gradient, &p->gradient, row, true, true);
	reference_max_pool(&forward);
	reference_max_pool_backward(&backward);
	return r;
}

static void pooled_free(struct pooled *r, const char *name)
{
	array_free(&r->input, name);
	array_free(&r->output, name);
	array_free(&r->gradient, name);
	array_free(&r->input_gradient, name);
	array_free(&r->sums, name);
	free(r->places);
}

static void expect_sums(int row, const struct array *sums, const struct array *nhwc)
{
	for (int64_t c = 0; c < sums->count; c++) {
		double sum = 0;

		for (int64_t i = c; i < nhwc->count; i += sums->count)
			sum += array_get(nhwc, i);
		ck_assert_msg(array_get(sums, c) == (double)(float)sum,
			      "%s: the sum of channel %lld", pools[row].name, (long long)c);
	}
}

START_TEST(pools_as_the_backend)
{
	int row = _i / TYPES / 4;
	bool relu = _i % 2, bad = _i / 2 % 2;
	const char *name = pools[row].name;
	struct pooling p = pooling_new(row, value_types[_i / 4 % TYPES], relu, bad);
	struct array back = array_new(p.input.type, p.output.count);
	struct array back_input = array_new(p.input.type, p.input.count);
	struct pooled r = pooled_run(&p, row, relu);

	pooling_run(&p);
	reorder(&back, &r.output, row, true, false);
	expect_same(name, "output", &back, &p.output);
	reorder(&back_input, &r.input_gradient, row, false, false);
	expect_same(name, "gradient", &back_input, &p.input_gradient);
	expect_sums(row, &r.sums, &r.input_gradient);
	array_free(&back, name);
	array_free(&back_input, name);
	pooled_free(&r, name);
	pooling_free(&p, name);
}
END_TEST

/* Places and sums are left out where no caller wants them. */
START_TEST(pools_without_places)
{
	float input[] = {1, 2, 4, 3}, output = 0;
	const struct max_pool_shape shape = {1, 2, 2, 1, 1, 1, 2, 2, 0, VALUE_FLOAT32};
	const struct max_pool_args args = {shape, input, &output, NULL};
	const uint8_t place = 2;
	struct max_pool_backward_args back = {.shape = shape,
					      .output_gradient = &output,
					      .places = &place,
					      .input_gradient = input};

	reference_max_pool(&args);
	ck_assert_float_eq(output, 4);
	reference_max_pool_backward(&back);
	ck_assert(input[0] == 0 && input[1] == 0 && input[2] == 4 && input[3] == 0);
}
END_TEST

/* Windows of 3 x 3, 2 apart, which begin 1 outside: the second and the fourth share their greatest
 * value, at the end of the second line. With ReLU's derivative the second passes nothing. */
START_TEST(windows_that_overlap_by_hand)
{
	static const double values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};
	static const double greatest[4] = {6, 8, 9, 8}, gradients[4] = {1, 2, 4, 8};
	static const uint8_t want[4] = {8, 8, 4, 2};
	enum value_type type = value_types[_i / 2];
	struct array input = array_new(type, 16), output = array_new(type, 4);
	struct array gradient = array_new(type, 4), input_gradient = array_new(type, 16);
	const struct max_pool_shape shape = {1, 4, 4, 1, 2, 2, 3, 2, 1, type};
	uint8_t places[4];
	float sum;
	const struct max_pool_args args = {shape, input.values, output.values, places};
	const struct max_pool_backward_args back = {
		shape,  gradient.values,       _i % 2 ? output.values : NULL,
		places, input_gradient.values, &sum,
		NULL};

	for (int i = 0; i < 16; i++)
		value_set(type, input.values, i, values[i]);
	reference_max_pool(&args);
	for (int i = 0; i < 4; i++) {
		ck_assert_double_eq(array_get(&output, i), greatest[i]);
		value_set(type, gradient.values, i, gradients[i]);
	}
	ck_assert_mem_eq(places, want, sizeof(want));
	value_set(type, output.values, 1, -8);
	reference_max_pool_backward(&back);
	for (int i = 0; i < 16; i++)
		ck_assert_double_eq(array_get(&input_gradient, i), i == 5   ? 1
								   : i == 7 ? (_i % 2 ? 8 : 10)
								   : i == 8 ? 4
									    : 0);
	ck_assert_double_eq(sum, _i % 2 ? 13 : 15);
	array_free(&input, "input");
	array_free(&output, "output");
	array_free(&gradient, "gradient");
	array_free(&input_gradient, "input gradient");
}
END_TEST

/* Two samples of three places, with two channels and two columns of padding. */
START_TEST(means_by_hand)
{
	static const double values[] = {1, -3, 7, 7, 2, -3, 7, 7, 6, -6, 7, 7,
					0, 4,  7, 7, 0, 4,  7, 7, 3, 1,  7, 7};
	static const double means[] = {3, -4, 1, 3}, gradients[] = {3, -6, 0, 12};
	static const double shares[] = {1, -2, 0, 0, 1, -2, 0, 0, 1, -2, 0, 0,
					0, 4,  0, 0, 0, 4,  0, 0, 0, 4,  0, 0};
	enum value_type type = value_types[_i];
	struct array input = array_new(type, 24), output = array_new(type, 4);
	struct array gradient = array_new(type, 4), input_gradient = array_new(type, 24);
	const struct mean_pool_args args = {input.values, output.values, 2, 3, 2, 4, type};
	const struct mean_pool_backward_args back = {
		gradient.values, input_gradient.values, 2, 3, 2, 4, type};

	for (int i = 0; i < 24; i++)
		value_set(type, input.values, i, values[i]);
	for (int i = 0; i < 4; i++)
		value_set(type, gradient.values, i, gradients[i]);
	reference_mean_pool(&args);
	reference_mean_pool_backward(&back);
	for (int i = 0; i < 4; i++)
		ck_assert_double_eq(array_get(&output, i), means[i]);
	for (int i = 0; i < 24; i++)
		ck_assert_double_eq(array_get(&input_gradient, i), shares[i]);
	array_free(&input, "input");
	array_free(&output, "output");
	array_free(&gradient, "gradient");
	array_free(&input_gradient, "input gradient");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels of pooling");
	TCase *tests = tcase_create("kernels of pooling");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pools_as_the_backend, 0, ROWS(pools) * TYPES * 4);
	tcase_add_test(tests, pools_without_places);
	tcase_add_loop_test(tests, windows_that_overlap_by_hand, 0, 2 * TYPES);
	tcase_add_loop_test(tests, means_by_hand, 0, TYPES);
	return unit_run(suite);
}
