/* SPDX-License-Identifier: MIT */
/* The references of the convolution that pools against the two operations of the reference backend.
 * Inputs, weights and gradients are halves from -1 to 1, so every type holds all sums whole. */
#include "backend/backend.h"
#include "kernels.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *name;
	int64_t batch;
	int32_t channels, height, width, out;
} shapes[] = {
	{"CIFAR-10", 2, 3, 32, 32, 16},         {"a rest at the end", 3, 3, 7, 9, 11},
	{"one window", 1, 1, 2, 2, 1},          {"one line of windows", 1, 2, 3, 21, 8},
	{"one row of windows", 2, 3, 12, 2, 9},
};

/* The two operations, in doubles and NCHW. */
struct two {
	struct device *device;
	struct op *convolution, *pool;
	struct array input, weight, bias, middle, output; /* middle: between them */
	struct array gradient, middle_gradient, weight_gradient, bias_gradient;
	void *workspace, *scratch;
};

static struct array halves(int64_t count, struct random_generator *random)
{
	struct array a = array_new(VALUE_FLOAT64, count);

	for (int64_t i = 0; i < count; i++)
		value_set(a.type, a.values, i, ((int)(random_u32(random) % 5) - 2) / 2.0);
	return a;
}

static struct two two_new(int row)
{
	const struct device_options options = {.threads = 1};
	struct op_shape shape = {.input = layout_host(VALUE_FLOAT64, shapes[row].batch,
						      shapes[row].channels, shapes[row].height,
						      shapes[row].width),
				 .out = shapes[row].out,
				 .kernel = 3,
				 .pad = 1,
				 .stride = 1,
				 .relu = true,
				 .no_backward_data = true};
	struct train_error error = {.status = TRAIN_OK};
	struct random_generator random;
	struct two t;

	ck_assert(backend_reference.open(&t.device, &options, &error));
	ck_assert(backend_reference.convolution(&t.convolution, t.device, &shape, &error));
	shape = (struct op_shape){.input = t.convolution->info.output,
				  .kernel = 2,
				  .stride = 2,
				  .relu_backward = true};
	ck_assert(backend_reference.max_pool(&t.pool, t.device, &shape, &error));
	random_seed(&random, 7);
	t.input = halves(layout_values(&t.convolution->info.input), &random);
	t.weight = halves(t.convolution->info.weights, &random);
	t.bias = halves(shapes[row].out, &random);
	t.middle = array_new(VALUE_FLOAT64, layout_values(&shape.input));
	t.output = array_new(VALUE_FLOAT64, layout_values(&t.pool->info.output));
	t.gradient = halves(t.output.count, &random);
	t.middle_gradient = array_new(VALUE_FLOAT64, t.middle.count);
	t.weight_gradient = array_new(VALUE_FLOAT64, t.weight.count);
	t.bias_gradient = array_new(VALUE_FLOAT64, t.bias.count);
	t.workspace = malloc(t.pool->info.workspace + 1);
	t.scratch = malloc(t.convolution->info.scratch + t.pool->info.scratch + 1);
	ck_assert(t.workspace && t.scratch);
	return t;
}

static void two_run(struct two *t)
{
	const struct op_args convolution = {.input = t->input.values,
					    .output = t->middle.values,
					    .scratch = t->scratch,
					    .weight = t->weight.values,
					    .bias = t->bias.values,
					    .output_gradient = t->middle_gradient.values,
					    .weight_gradient = t->weight_gradient.values,
					    .bias_gradient = t->bias_gradient.values};
	const struct op_args pool = {.input = t->middle.values,
				     .output = t->output.values,
				     .workspace = t->workspace,
				     .scratch = t->scratch,
				     .output_gradient = t->gradient.values,
				     .input_gradient = t->middle_gradient.values};
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(t->convolution->calls->forward(t->convolution, &convolution, &error));
	ck_assert(t->pool->calls->forward(t->pool, &pool, &error));
	ck_assert(t->pool->calls->backward_data(t->pool, &pool, &error));
	ck_assert(t->convolution->calls->backward_weights(t->convolution, &convolution, &error));
}

static void two_free(struct two *t, const char *name)
{
	struct array *const arrays[] = {
		&t->input,           &t->weight,          &t->bias,
		&t->middle,          &t->output,          &t->gradient,
		&t->middle_gradient, &t->weight_gradient, &t->bias_gradient};

	for (int i = 0; i < ROWS(arrays); i++)
		array_free(arrays[i], name);
	op_free(t->convolution);
	op_free(t->pool);
	backend_reference.close(t->device);
	free(t->workspace);
	free(t->scratch);
}

/* As NHWC with padding, which is NaN: nothing may read it. */
static struct array to_nhwc(const struct array *from, const struct layout *layout, int padded,
			    enum value_type type)
{
	int64_t places = layout->height * layout->width, images = layout->batch;
	struct array to = array_new(type, images * places * padded);

	for (int64_t i = 0; i < to.count; i++)
		value_set(type, to.values, i, (double)NAN);
	for (int64_t n = 0; n < images; n++)
		for (int64_t c = 0; c < layout->channels; c++)
			for (int64_t p = 0; p < places; p++)
				value_set(type, to.values, (n * places + p) * padded + c,
					  array_get(from, (n * layout->channels + c) * places + p));
	return to;
}

/* From the device's order of filters to PyTorch's, or back: between (out, 3, 3, channels) and (out,
 * channels, 3, 3). */
static int64_t filter_at(int64_t i, int32_t channels)
{
	int64_t out = i / (9 * channels), place = i / channels % 9, c = i % channels;

	return (out * channels + c) * 9 + place;
}

static struct array filters_of(const struct array *weight, int32_t channels)
{
	struct array to = array_new(VALUE_FLOAT32, weight->count);

	for (int64_t i = 0; i < to.count; i++)
		value_set(to.type, to.values, i, array_get(weight, filter_at(i, channels)));
	return to;
}

static void expect_output(const char *name, const struct array *got, const struct two *t)
{
	const struct layout *layout = &t->pool->info.output;
	int64_t places = layout->height * layout->width;
	int padded = convolution_pool_padded((int32_t)layout->channels);

	for (int64_t i = 0; i < got->count; i++) {
		int64_t c = i % padded, p = i / padded % places, n = i / padded / places;
		double want =
			c < layout->channels
				? array_get(&t->output, (n * layout->channels + c) * places + p)
				: 0;

		ck_assert_msg(array_get(got, i) == want, "%s: output %lld is %g, not %g", name,
			      (long long)i, array_get(got, i), want);
	}
}

static void expect_gradients(const char *name, const struct array *weight, const struct array *bias,
			     const struct two *t, int32_t channels)
{
	for (int64_t i = 0; i < weight->count; i++)
		ck_assert_msg(array_get(weight, i) ==
				      array_get(&t->weight_gradient, filter_at(i, channels)),
			      "%s: weight %lld has %g", name, (long long)i, array_get(weight, i));
	for (int64_t i = 0; i < bias->count; i++)
		ck_assert_msg(array_get(bias, i) == array_get(&t->bias_gradient, i),
			      "%s: bias %lld has %g", name, (long long)i, array_get(bias, i));
}

START_TEST(both_are_the_two_operations)
{
	int row = _i / 2, padded = convolution_pool_padded(shapes[row].out);
	enum value_type type = _i % 2 ? VALUE_BFLOAT16 : VALUE_FLOAT16;
	const char *name = shapes[row].name;
	struct two t = two_new(row);
	struct array input =
		to_nhwc(&t.input, &t.convolution->info.input, CONVOLUTION_POOL_PIXEL, type);
	struct array gradient = to_nhwc(&t.gradient, &t.pool->info.output, padded, type);
	struct array weight = filters_of(&t.weight, shapes[row].channels);
	struct array bias = array_new(VALUE_FLOAT32, t.bias.count);
	struct array output = array_new(type, gradient.count);
	struct array weight_gradient = array_new(VALUE_FLOAT32, weight.count);
	struct array bias_gradient = array_new(VALUE_FLOAT32, bias.count);
	uint16_t *places = malloc((size_t)output.count / 8 * sizeof(*places));
	const struct convolution_pool_args forward = {input.values,
						      weight.values,
						      bias.values,
						      output.values,
						      places,
						      shapes[row].batch,
						      shapes[row].height,
						      shapes[row].width,
						      shapes[row].channels,
						      shapes[row].out,
						      type};
	const struct convolution_pool_backward_args backward = {
		.input = input.values,
		.output_gradient = gradient.values,
		.output = output.values,
		.places = places,
		.weight_gradient = weight_gradient.values,
		.bias_gradient = bias_gradient.values,
		.batch = shapes[row].batch,
		.height = shapes[row].height,
		.width = shapes[row].width,
		.channels = shapes[row].channels,
		.out = shapes[row].out,
		.type = type};

	ck_assert_ptr_nonnull(places);
	for (int64_t i = 0; i < bias.count; i++)
		value_set(bias.type, bias.values, i, array_get(&t.bias, i));
	two_run(&t);
	reference_convolution_pool(&forward);
	expect_output(name, &output, &t);
	reference_convolution_pool_backward(&backward);
	expect_gradients(name, &weight_gradient, &bias_gradient, &t, shapes[row].channels);
	array_free(&input, name);
	array_free(&gradient, name);
	array_free(&weight, name);
	array_free(&bias, name);
	array_free(&output, name);
	array_free(&weight_gradient, name);
	array_free(&bias_gradient, name);
	free(places);
	two_free(&t, name);
}
END_TEST

/* One window whose sums are center + left / 512 of one channel, in bfloat16, which rounds the
 * weight of the center to 1. */
static const struct {
	const char *name;
	float pixels[4];
	double output;
	unsigned place;
} windows[] = {
	{"the greatest", {1, 2, 4, 3}, 4, 2},
	{"the first of equal ones", {-1, 3, -1, 3}, 3, 1},
	{"before rounding", {1, 1, 1, 1}, 1, 1},
	{"none above 0", {-1, -2, -4, -3}, 0, 0},
	{"zeros", {0, 0, 0, 0}, 0, 0},
	{"NaN", {NAN, -9, 5, 6}, NAN, 3}, /* all sums have it, at least times 0 */
	{"infinity", {1, INFINITY, 3, 4}, NAN, 3},
	{"weights are rounded", {-131072, 256, 0, 0}, 0, 0},
};

START_TEST(the_greatest_sum_counts)
{
	uint16_t input[4 * CONVOLUTION_POOL_PIXEL] = {0}, output[8], places = 0;
	float weight[9] = {[3] = 1 / 512.0F, [4] = 1 + 1 / 512.0F}, bias = 0;
	const struct convolution_pool_args args = {.input = input,
						   .weight = weight,
						   .bias = &bias,
						   .output = output,
						   .places = &places,
						   .batch = 1,
						   .height = 2,
						   .width = 2,
						   .channels = 1,
						   .out = 1,
						   .type = VALUE_BFLOAT16};

	for (int i = 0; i < 4; i++)
		value_set(args.type, input, i * CONVOLUTION_POOL_PIXEL,
			  (double)windows[_i].pixels[i]);
	reference_convolution_pool(&args);
	ck_assert_msg(same_value(value_get(args.type, output, 0), windows[_i].output),
		      "%s: the output is %g", windows[_i].name, value_get(args.type, output, 0));
	ROW_EQ_INT(windows[_i].name, places & 3, windows[_i].place);
	for (int i = 1; i < 8 && !isnan(windows[_i].output); i++)
		ROW_EQ_INT(windows[_i].name, output[i], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels of a convolution that pools");
	TCase *tests = tcase_create("kernels of a convolution that pools");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, both_are_the_two_operations, 0, 2 * ROWS(shapes));
	tcase_add_loop_test(tests, the_greatest_sum_counts, 0, ROWS(windows));
	return unit_run(suite);
}
