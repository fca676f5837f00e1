/* SPDX-License-Identifier: MIT */
/* The references of kernels that move and change values: sums, types, orders. */
#include <time.h>

#include "kernels.h"

START_TEST(adds)
{
	struct random_generator random;

	random_seed(&random, 11);
	for (int64_t count = 0; count < 70; count += 23) {
		struct array sum = array_random(VALUE_FLOAT32, count, &random);
		struct array more = array_random(VALUE_FLOAT32, count, &random);
		struct array want = array_new(VALUE_FLOAT32, count);
		const struct accumulate_args args = {sum.values, more.values, count};

		for (int64_t i = 0; i < count; i++)
			value_set(VALUE_FLOAT32, want.values, i,
				  array_get(&sum, i) + array_get(&more, i));
		reference_accumulate(&args);
		for (int64_t i = 0; i < count; i++)
			ck_assert_double_eq(array_get(&sum, i), array_get(&want, i));
		array_free(&sum, "sum");
		array_free(&more, "more");
		array_free(&want, "want");
	}
}
END_TEST

/* By hand: 1 + 2^-8 is a tie of bf16, whose values next to it are 1 and 1 + 2^-7. */
static const struct {
	const char *name;
	enum value_type type;
	int32_t relu;
	double a, b, want;
} additions[] = {
	{"float", VALUE_FLOAT32, 0, 1.5, -4, -2.5},
	{"below 0", VALUE_FLOAT32, 1, 1.5, -4, 0},
	{"above 0", VALUE_FLOAT16, 1, 1.5, -1, 0.5},
	{"rounded", VALUE_BFLOAT16, 0, 1, 0x1p-8, 1},
	{"rounded up", VALUE_BFLOAT16, 1, 1, 3 * 0x1p-9, 1 + 0x1p-7},
	{"a NaN", VALUE_FLOAT32, 0, NAN, 1, NAN},
	{"a NaN with ReLU", VALUE_BFLOAT16, 1, NAN, 1, NAN},
	{"infinities", VALUE_FLOAT32, 1, INFINITY, -INFINITY, NAN},
};

START_TEST(sums_of_two)
{
	enum value_type type = additions[_i].type;

	for (int over = 0; over < 3; over++) {
		double values[3];
		struct residual_add_args args = {&values[0], &values[1],         &values[over],
						 1,          additions[_i].relu, type};

		value_set(type, &values[0], 0, additions[_i].a);
		value_set(type, &values[1], 0, additions[_i].b);
		reference_residual_add(&args);
		ck_assert_msg(same_value(value_get(type, &values[over], 0), additions[_i].want),
			      "%s: %g", additions[_i].name, value_get(type, &values[over], 0));
	}
}
END_TEST

/* IEEE 754 and bf16 by hand: rounding is to the nearest, ties to even. */
static const struct {
	const char *name;
	enum value_type from, to;
	double value, want;
} conversions[] = {
	{"exact", VALUE_FLOAT32, VALUE_BFLOAT16, 1.5, 1.5},
	{"a tie, down to even", VALUE_FLOAT32, VALUE_BFLOAT16, 1 + 0x1p-8, 1},
	{"a tie, up to even", VALUE_FLOAT32, VALUE_BFLOAT16, 1 + 3 * 0x1p-8, 1 + 0x1p-6},
	{"just above a tie", VALUE_FLOAT32, VALUE_BFLOAT16, 1 + 0x1p-8 + 0x1p-23, 1 + 0x1p-7},
	{"a tie of fp16", VALUE_FLOAT32, VALUE_FLOAT16, 1 + 0x1p-11, 1},
	{"too great for fp16", VALUE_FLOAT32, VALUE_FLOAT16, 65520, INFINITY},
	{"just not too great", VALUE_FLOAT32, VALUE_FLOAT16, 65519, 65504},
	{"a subnormal of fp16", VALUE_FLOAT32, VALUE_FLOAT16, 0x1.8p-24, 0x1p-23},
	{"bf16 beyond fp16", VALUE_BFLOAT16, VALUE_FLOAT16, 0x1p20, INFINITY},
	{"fp16 to bf16", VALUE_FLOAT16, VALUE_BFLOAT16, 1 + 0x1p-10, 1},
	{"infinite", VALUE_FLOAT16, VALUE_FLOAT32, -INFINITY, -INFINITY},
	{"no number", VALUE_BFLOAT16, VALUE_FLOAT32, NAN, NAN},
	{"no number in fp16", VALUE_FLOAT32, VALUE_FLOAT16, NAN, NAN},
	{"alike", VALUE_FLOAT16, VALUE_FLOAT16, 0x1p-24, 0x1p-24},
};

START_TEST(converts)
{
	struct array from = array_new(conversions[_i].from, 3), to;

	to = array_new(conversions[_i].to, 3);
	for (int i = 0; i < 3; i++)
		value_set(from.type, from.values, i, i == 2 ? conversions[_i].value : i);
	for (int64_t count = 0; count <= 3; count += 3) {
		const struct convert_args args = {from.values, to.values, count, from.type,
						  to.type};

		reference_convert(&args);
		ck_assert(count || ((unsigned char *)to.values)[0] == POISON);
	}
	ck_assert(array_get(&to, 0) == 0 && array_get(&to, 1) == 1);
	ck_assert_msg(same_value(array_get(&to, 2), conversions[_i].want), "%s: %g",
		      conversions[_i].name, array_get(&to, 2));
	array_free(&from, conversions[_i].name);
	array_free(&to, conversions[_i].name);
}
END_TEST

static const struct {
	const char *name;
	int64_t batch;
	int32_t channels, height, width, padded;
} orders[] = {
	{"an image", 2, 3, 5, 4, 8},     {"a filter", 64, 3, 3, 3, 4},
	{"no padding", 3, 16, 7, 1, 16}, {"features", 5, 33, 1, 1, 40},
	{"one of each", 1, 1, 1, 1, 1},  {"none", 0, 3, 2, 2, 8},
};

/* Reordered by the definition of both orders, and back again. */
START_TEST(reorders)
{
	int row = _i / (TYPES * TYPES);
	enum value_type dense_type = value_types[_i / TYPES % TYPES];
	enum value_type padded_type = value_types[_i % TYPES];
	int64_t n = orders[row].batch, c = orders[row].channels, p = orders[row].padded;
	int64_t places = (int64_t)orders[row].height * orders[row].width;
	struct random_generator random;
	struct array dense, padded, back;
	struct reorder_args args;

	random_seed(&random, 12);
	dense = array_random(dense_type, n * c * places, &random);
	padded = array_new(padded_type, n * p * places);
	back = array_new(dense_type, n * c * places);
	args = (struct reorder_args){
		dense.values,         padded.values,      dense_type,        padded_type, n,
		orders[row].channels, orders[row].height, orders[row].width, (int32_t)p,  1};
	reference_reorder(&args);
	for (int64_t i = 0; i < n * p * places; i++) {
		int64_t at_c = i % p, place = i / p % places, at_n = i / p / places;
		double want = at_c < c ? array_get(&dense, (at_n * c + at_c) * places + place) : 0;

		ck_assert_msg(array_get(&padded, i) == want, "%s: %g at %lld, not %g",
			      orders[row].name, array_get(&padded, i), (long long)i, want);
	}
	args = (struct reorder_args){
		padded.values,        back.values,        padded_type,       dense_type, n,
		orders[row].channels, orders[row].height, orders[row].width, (int32_t)p, 0};
	reference_reorder(&args);
	for (int64_t i = 0; i < n * c * places; i++)
		ck_assert_msg(array_get(&back, i) == array_get(&dense, i), "%s: not back at %lld",
			      orders[row].name, (long long)i);
	array_free(&dense, orders[row].name);
	array_free(&padded, orders[row].name);
	array_free(&back, orders[row].name);
}
END_TEST

static const struct {
	const char *name;
	int64_t rows, columns;
} sums[] = {
	{"one", 1, 1}, {"a convolution", 50, 64}, {"odd", 13, 7}, {"no rows", 0, 5}, {"none", 3, 0},
};

/* Outputs of each kind, in turn. */
static double output_at(int64_t i)
{
	static const double outputs[] = {0, 2, -1, NAN, 0.125, -0.0};

	return outputs[i % 6];
}

static void fill_outputs(struct array *output)
{
	for (int64_t i = 0; i < output->count; i++)
		value_set(output->type, output->values, i, output_at(i));
}

START_TEST(sums_over_rows)
{
	int row = _i / TYPES / 2;
	enum value_type type = value_types[_i / 2 % TYPES];
	bool relu = _i % 2;
	int64_t rows = sums[row].rows, columns = sums[row].columns, count = rows * columns;
	struct random_generator random;
	struct array gradient, output = array_new(type, count), got = array_new(0, columns);
	struct bias_gradient_args args;

	random_seed(&random, 13);
	gradient = array_random(type, count, &random);
	fill_outputs(&output);
	args = (struct bias_gradient_args){.gradient = gradient.values,
					   .output = relu ? output.values : NULL,
					   .sums = got.values,
					   .rows = rows,
					   .columns = columns,
					   .type = type};
	reference_bias_gradient(&args);
	random_seed(&random, 13);
	for (int64_t c = 0; c < columns; c++) {
		struct array was;
		double sum = 0;

		random_seed(&random, 13);
		was = array_random(type, count, &random);
		for (int64_t i = c; i < count; i += columns) {
			bool passes = !relu || output_at(i) > 0;
			double want = passes ? array_get(&was, i) : 0;

			ck_assert_msg(array_get(&gradient, i) == want, "%s: gradient %lld",
				      sums[row].name, (long long)i);
			sum += want;
		}
		ck_assert_msg(array_get(&got, c) == sum, "%s: sum %lld is %g, not %g",
			      sums[row].name, (long long)c, array_get(&got, c), sum);
		array_free(&was, sums[row].name);
	}
	array_free(&gradient, sums[row].name);
	array_free(&output, sums[row].name);
	array_free(&got, sums[row].name);
}
END_TEST

START_TEST(relu_alone)
{
	struct array gradient = array_new(value_types[_i], 12), output;
	const struct relu_backward_args none = {gradient.values, NULL, 0, value_types[_i]};
	struct relu_backward_args args;

	output = array_new(value_types[_i], 12);
	fill_outputs(&output);
	for (int i = 0; i < 12; i++)
		value_set(gradient.type, gradient.values, i, i == 4 ? (double)NAN : i + 1);
	reference_relu_backward(&none);
	args = (struct relu_backward_args){gradient.values, output.values, 12, value_types[_i]};
	reference_relu_backward(&args);
	for (int i = 0; i < 12; i++) {
		double passed = i == 4 ? (double)NAN : i + 1;

		ck_assert_msg(same_value(array_get(&gradient, i), output_at(i) > 0 ? passed : 0),
			      "gradient %d is %g", i, array_get(&gradient, i));
	}
	array_free(&gradient, "gradient");
	array_free(&output, "output");
}
END_TEST

static double busy_for(int64_t nanoseconds, int32_t blocks)
{
	const struct busy_args args = {nanoseconds, blocks};
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	reference_busy(&args);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

START_TEST(busy_takes_its_time)
{
	ck_assert_double_ge(busy_for(3000000, 1), 3000000);
	ck_assert_double_ge(busy_for(1000000, 100), 1000000);
	busy_for(INT64_MAX, 0);
	busy_for(0, 5);
	busy_for(-1, 5);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("kernels");
	TCase *tests = tcase_create("kernels");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, adds);
	tcase_add_loop_test(tests, converts, 0, ROWS(conversions));
	tcase_add_loop_test(tests, reorders, 0, ROWS(orders) * TYPES * TYPES);
	tcase_add_loop_test(tests, sums_over_rows, 0, ROWS(sums) * TYPES * 2);
	tcase_add_loop_test(tests, relu_alone, 0, TYPES);
	tcase_add_loop_test(tests, sums_of_two, 0, (int)(sizeof(additions) / sizeof(*additions)));
	tcase_add_test(tests, busy_takes_its_time);
	return unit_run(suite);
}
