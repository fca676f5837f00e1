/* SPDX-License-Identifier: MIT */
/* The references of batch normalization against values that were worked out by hand. */
#include "kernels.h"

enum { MAX_ROWS = 4 };

/* A channel with weight 2, bias 1 and momentum 1/4, whose running mean is 4 and variance 8. */
static const struct {
	const char *name;
	int64_t rows, counted;
	double eps;
	bool relu;
	double input[MAX_ROWS], gradient[MAX_ROWS];
	double running_mean, running_var;
	double output[MAX_ROWS], bias_gradient, weight_gradient, input_gradient[MAX_ROWS];
} rows[] = {
	/* mean 2, variance 1, so 1 / std = 1/2: output = (x - 2) + 1. The products sum to 1. */
	{"two rows", 2, 2, 3, false, {1, 3}, {1, 2}, 3.5, 6.5, {0, 2}, 3, 0.5, {-0.375, 0.375}},
	/* the first output is 0, so its gradient does not pass: the sums are 2 and 2 */
	{"ReLU", 2, 2, 3, true, {1, 3}, {1, 2}, 3.5, 6.5, {0, 2}, 2, 1, {-0.75, 0.75}},
	{"rows that do not count",
	 4,
	 2,
	 3,
	 false,
	 {1, 3, -1, 7},
	 {1, 2, 64, 128},
	 3.5,
	 6.5,
	 {0, 2, 0, 0},
	 3,
	 0.5,
	 {-0.375, 0.375, 0, 0}},
	{"the same with ReLU",
	 4,
	 2,
	 3,
	 true,
	 {1, 3, -1, 7},
	 {1, 2, 64, 128},
	 3.5,
	 6.5,
	 {0, 2, 0, 0},
	 2,
	 1,
	 {-0.75, 0.75, 0, 0}},
	/* mean 3, variance 3, 1 / std = 1/2; x - 3 is -3, 1, 1, 1; products -3 + 2 + 0 + 1 = 0 */
	{"four rows",
	 4,
	 4,
	 1,
	 false,
	 {0, 4, 4, 4},
	 {1, 2, 0, 1},
	 3.75,
	 7,
	 {-2, 2, 2, 2},
	 4,
	 0,
	 {0, 1, -1, 0}},
	/* variance 0, 1 / std = 1/4; the running variance stays */
	{"one row", 2, 1, 16, false, {6, 2}, {3, 5}, 4.5, 8, {1, 0}, 3, 0, {0, 0}},
	{"no row", 2, 0, 4, false, {1, 3}, {5, 6}, 4, 8, {0, 0}, 0, 0, {0, 0}},
	{"more rows than room",
	 2,
	 9,
	 3,
	 false,
	 {1, 3},
	 {1, 2},
	 3.5,
	 6.5,
	 {0, 2},
	 3,
	 0.5,
	 {-0.375, 0.375}},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

/* Three columns, of which the second is the channel of the row, the first has zeros and the third
 * is padding. */
enum { COLUMNS = 3, CHANNELS = 2 };

struct norm {
	const char *name;
	struct batch_norm_shape shape;
	struct pass_control control;
	struct array input, gradient, output, input_gradient, saved;
	float weight[CHANNELS], bias[CHANNELS], running_mean[CHANNELS], running_var[CHANNELS];
	float weight_gradient[CHANNELS], bias_gradient[CHANNELS];
};

static struct norm norm_new(int row, enum value_type type)
{
	struct norm n = {rows[row].name,
			 {rows[row].rows, COLUMNS, CHANNELS, 1, type},
			 {.rows = (int32_t)rows[row].counted},
			 .weight = {1, 2},
			 .bias = {0, 1},
			 .running_mean = {0, 4},
			 .running_var = {0, 8}};
	int64_t count = n.shape.rows * COLUMNS;

	n.input = array_new(type, count);
	n.gradient = array_new(type, count);
	n.output = array_new(type, count);
	n.input_gradient = array_new(type, count);
	n.saved = array_new(VALUE_FLOAT32, BATCH_NORM_SAVED * COLUMNS);
	for (int64_t i = 0; i < count; i++) {
		bool own = i % COLUMNS == 1;

		value_set(type, n.input.values, i, own ? rows[row].input[i / COLUMNS] : 0);
		value_set(type, n.gradient.values, i, own ? rows[row].gradient[i / COLUMNS] : 0);
	}
	return n;
}

static void norm_free(struct norm *n)
{
	array_free(&n->input, n->name);
	array_free(&n->gradient, n->name);
	array_free(&n->output, n->name);
	array_free(&n->input_gradient, n->name);
	array_free(&n->saved, n->name);
}

static void forward(struct norm *n, double eps, bool relu, bool training)
{
	const struct batch_norm_statistics_args statistics = {.shape = n->shape,
							      .input = n->input.values,
							      .control =
								      training ? &n->control : NULL,
							      .weight = n->weight,
							      .bias = n->bias,
							      .running_mean = n->running_mean,
							      .running_var = n->running_var,
							      .saved = n->saved.values,
							      .eps = eps,
							      .momentum = 0.25,
							      .training = training};
	const struct batch_norm_normalize_args normalize = {.shape = n->shape,
							    .input = n->input.values,
							    .control =
								    training ? &n->control : NULL,
							    .saved = n->saved.values,
							    .output = n->output.values,
							    .relu = relu};

	reference_batch_norm_statistics(&statistics);
	reference_batch_norm_normalize(&normalize);
}

static void backward(struct norm *n, bool relu)
{
	const struct batch_norm_sums_args sums = {.shape = n->shape,
						  .input = n->input.values,
						  .output_gradient = n->gradient.values,
						  .control = &n->control,
						  .weight_gradient = n->weight_gradient,
						  .bias_gradient = n->bias_gradient,
						  .saved = n->saved.values,
						  .relu_backward = relu};
	const struct batch_norm_backward_args data = {.shape = n->shape,
						      .input = n->input.values,
						      .output_gradient = n->gradient.values,
						      .control = &n->control,
						      .saved = n->saved.values,
						      .input_gradient = n->input_gradient.values,
						      .relu_backward = relu};

	reference_batch_norm_sums(&sums);
	reference_batch_norm_backward(&data);
}

static void expect(const char *name, const char *what, int64_t i, double got, double want)
{
	ck_assert_msg(got == want, "%s: %s %lld is %.9g, not %.9g", name, what, (long long)i, got,
		      want);
}

/* The channel's column is `want`; the others are zero. */
static void expect_column(const struct norm *n, const char *what, const struct array *got,
			  const double *want)
{
	for (int64_t i = 0; i < got->count; i++)
		expect(n->name, what, i, array_get(got, i),
		       i % COLUMNS == 1 ? want[i / COLUMNS] : 0);
}

START_TEST(norms_by_hand)
{
	int row = _i / TYPES;
	enum value_type type = value_types[_i % TYPES];
	struct norm n = norm_new(row, type);

	forward(&n, rows[row].eps, rows[row].relu, true);
	backward(&n, rows[row].relu);
	expect(n.name, "running mean", 1, n.running_mean[1], rows[row].running_mean);
	expect(n.name, "running variance", 1, n.running_var[1], rows[row].running_var);
	expect(n.name, "running mean", 0, n.running_mean[0], 0);
	expect(n.name, "bias gradient", 1, n.bias_gradient[1], rows[row].bias_gradient);
	expect(n.name, "weight gradient", 1, n.weight_gradient[1], rows[row].weight_gradient);
	expect(n.name, "bias gradient", 0, n.bias_gradient[0], 0);
	expect_column(&n, "output", &n.output, rows[row].output);
	expect_column(&n, "input gradient", &n.input_gradient, rows[row].input_gradient);
	for (int which = 0; which < BATCH_NORM_SAVED; which++)
		expect(n.name, "saved padding", which, array_get(&n.saved, which * COLUMNS + 2), 0);
	norm_free(&n);
}
END_TEST

/* Mean 4 and 1 / std = 1/3, of which nothing moves; the batch's are not asked for. */
START_TEST(evaluation_by_hand)
{
	struct norm n = norm_new(0, value_types[_i]);
	const double want[MAX_ROWS] = {-1.25, 0.25};

	n.weight[1] = 2.25f;
	forward(&n, 1, false, false);
	ck_assert(n.running_mean[1] == 4 && n.running_var[1] == 8);
	expect_column(&n, "output", &n.output, want);
	norm_free(&n);
}
END_TEST

/* The row "two rows", 2^24 - 1 further on: the mean is 2^24 + 1, which is no float. */
START_TEST(a_mean_that_no_float_holds)
{
	struct norm n = norm_new(0, VALUE_FLOAT32);

	for (int64_t i = 1; i < n.input.count; i += COLUMNS)
		((float *)n.input.values)[i] += 0x1p24f - 1;
	forward(&n, rows[0].eps, false, true);
	backward(&n, false);
	expect(n.name, "saved mean", 1, array_get(&n.saved, BATCH_NORM_MEAN * COLUMNS + 1), 0x1p24);
	expect(n.name, "its rest", 1, array_get(&n.saved, BATCH_NORM_MEAN_REST * COLUMNS + 1), 1);
	expect(n.name, "weight gradient", 1, n.weight_gradient[1], rows[0].weight_gradient);
	expect_column(&n, "output", &n.output, rows[0].output);
	expect_column(&n, "input gradient", &n.input_gradient, rows[0].input_gradient);
	norm_free(&n);
}
END_TEST

/* An output of fp16 that is above zero only before it is rounded passes no gradient. */
START_TEST(outputs_count_as_they_are_rounded)
{
	struct norm n = norm_new(0, VALUE_FLOAT16);

	n.weight[1] = 0x1p-30f;
	n.bias[1] = 0x1p-30f;
	forward(&n, rows[0].eps, true, true);
	ck_assert(array_get(&n.output, 4) == 0);
	backward(&n, true);
	expect(n.name, "bias gradient", 1, n.bias_gradient[1], 0);
	norm_free(&n);
}
END_TEST

/* --- ranks ----------------------------------------------------------------------------------- */

/* The first row, none, and the others. */
enum { RANKS = 3, RANK_VALUES = 1 + 2 * CHANNELS };

struct part {
	struct norm norm;
	int64_t first, count;
};

static struct part part_new(int row, enum value_type type, int rank)
{
	int64_t all = rows[row].counted < rows[row].rows ? rows[row].counted : rows[row].rows;
	int64_t begin = all > 0 ? 1 : 0;
	struct part p = {.norm = norm_new(row, type)};

	p.first = rank == 0 ? 0 : begin;
	p.count = rank == 0 ? begin : rank == 1 ? 0 : all - begin;
	p.norm.control.rows = (int32_t)p.count;
	for (int64_t i = 0; i < p.count * COLUMNS; i++) {
		int64_t from = i + p.first * COLUMNS;

		value_set(type, p.norm.input.values, i, array_get(&p.norm.input, from));
		value_set(type, p.norm.gradient.values, i, array_get(&p.norm.gradient, from));
	}
	return p;
}

static void parts_forward(struct part *parts, double eps, bool relu)
{
	double all[RANKS][RANK_VALUES];

	for (int r = 0; r < RANKS; r++) {
		const struct norm *n = &parts[r].norm;
		const struct batch_norm_statistics_args args = {.shape = n->shape,
								.input = n->input.values,
								.control = &n->control,
								.training = true,
								.values = all[r]};

		reference_batch_norm_statistics(&args);
	}
	for (int r = 0; r < RANKS; r++) {
		struct norm *n = &parts[r].norm;
		const struct batch_norm_join_statistics_args args = {.shape = n->shape,
								     .all = all[0],
								     .ranks = RANKS,
								     .weight = n->weight,
								     .bias = n->bias,
								     .running_mean =
									     n->running_mean,
								     .running_var = n->running_var,
								     .saved = n->saved.values,
								     .eps = eps,
								     .momentum = 0.25};
		const struct batch_norm_normalize_args normalize = {
			n->shape,        n->input.values,  &n->control,
			n->saved.values, n->output.values, relu};

		reference_batch_norm_join_statistics(&args);
		reference_batch_norm_normalize(&normalize);
	}
}

static void parts_backward(struct part *parts, bool relu)
{
	double all[RANKS][RANK_VALUES];

	for (int r = 0; r < RANKS; r++) {
		struct norm *n = &parts[r].norm;
		const struct batch_norm_sums_args args = {.shape = n->shape,
							  .input = n->input.values,
							  .output_gradient = n->gradient.values,
							  .control = &n->control,
							  .weight_gradient = n->weight_gradient,
							  .bias_gradient = n->bias_gradient,
							  .saved = n->saved.values,
							  .values = all[r],
							  .relu_backward = relu};

		reference_batch_norm_sums(&args);
	}
	for (int r = 0; r < RANKS; r++) {
		struct norm *n = &parts[r].norm;
		const struct batch_norm_join_sums_args args = {n->shape, all[0], RANKS,
							       n->saved.values};
		const struct batch_norm_backward_args data = {.shape = n->shape,
							      .input = n->input.values,
							      .output_gradient = n->gradient.values,
							      .control = &n->control,
							      .saved = n->saved.values,
							      .input_gradient =
								      n->input_gradient.values,
							      .relu_backward = relu};

		reference_batch_norm_join_sums(&args);
		reference_batch_norm_backward(&data);
	}
}

static void expect_part(const struct part *p, int row)
{
	const struct norm *n = &p->norm;

	expect(n->name, "running mean", 1, n->running_mean[1], rows[row].running_mean);
	expect(n->name, "running variance", 1, n->running_var[1], rows[row].running_var);
	expect(n->name, "running mean", 0, n->running_mean[0], 0);
	for (int64_t i = 0; i < n->shape.rows; i++) {
		bool counts = i < p->count;

		if (counts)
			expect(n->name, "output", p->first + i,
			       array_get(&n->output, i * COLUMNS + 1),
			       rows[row].output[p->first + i]);
		expect(n->name, "input gradient", p->first + i,
		       array_get(&n->input_gradient, i * COLUMNS + 1),
		       counts ? rows[row].input_gradient[p->first + i] : 0);
	}
	for (int which = 0; which < BATCH_NORM_SAVED; which++)
		expect(n->name, "saved padding", which, array_get(&n->saved, which * COLUMNS + 2),
		       0);
}

/* What one rank computes of all rows by hand, each of three has for its own. */
START_TEST(ranks_by_hand)
{
	int row = _i / TYPES;
	struct part parts[RANKS];
	double bias = 0, weight = 0;

	for (int r = 0; r < RANKS; r++)
		parts[r] = part_new(row, value_types[_i % TYPES], r);
	parts_forward(parts, rows[row].eps, rows[row].relu);
	parts_backward(parts, rows[row].relu);
	for (int r = 0; r < RANKS; r++) {
		expect_part(&parts[r], row);
		bias += (double)parts[r].norm.bias_gradient[1];
		weight += (double)parts[r].norm.weight_gradient[1];
	}
	expect(rows[row].name, "bias gradient", 1, bias, rows[row].bias_gradient);
	expect(rows[row].name, "weight gradient", 1, weight, rows[row].weight_gradient);
	ck_assert(parts[1].norm.bias_gradient[1] == 0 && parts[1].norm.weight_gradient[1] == 0);
	for (int r = 0; r < RANKS; r++)
		norm_free(&parts[r].norm);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels of batch normalization");
	TCase *tests = tcase_create("kernels of batch normalization");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, norms_by_hand, 0, ROWS * TYPES);
	tcase_add_loop_test(tests, evaluation_by_hand, 0, TYPES);
	tcase_add_loop_test(tests, ranks_by_hand, 0, ROWS * TYPES);
	tcase_add_test(tests, a_mean_that_no_float_holds);
	tcase_add_test(tests, outputs_count_as_they_are_rounded);
	return unit_run(suite);
}
