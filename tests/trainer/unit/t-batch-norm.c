/* SPDX-License-Identifier: MIT */
/* Batch normalization of the CPU against its definition in double. isa.test repeats it with the
 * instructions of older processors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/batch_norm.h"
#include "unit.h"

/* `rows` of the samples count. Channels from `channels` on are padding. */
static const struct {
	const char *name;
	int64_t samples, groups, places, inner, channels, rows;
	double centre; /* of the values, whose deviation is about 1 */
} rows[] = {
	{"row-major", 3, 5, 12, 1, 5, 3, 0},
	{"blocks of 8", 2, 2, 15, 8, 16, 2, 0},
	{"blocks of 16", 2, 3, 9, 16, 48, 2, 0},
	{"a last block with padding", 2, 2, 6, 16, 27, 2, 0},
	{"channels last", 3, 1, 20, 29, 29, 3, 0},
	{"channels last in pieces", 2, 1, 70, 136, 136, 2, 0},
	{"fewer rows", 4, 2, 9, 8, 16, 3, 0},
	{"one row", 4, 1, 9, 19, 19, 1, 0},
	{"no row", 2, 1, 4, 8, 8, 0, 0},
	{"one value in a channel", 1, 1, 1, 24, 24, 1, 0},
	{"two values in a channel", 2, 1, 1, 24, 24, 2, 0},
	{"far from zero", 3, 1, 50, 16, 16, 3, 1000},
};
enum { ROWS = sizeof(rows) / sizeof(*rows), KINDS = 4, VALUES = 1 << 15, CHANNELS = 256 };

static const double eps = 1e-5, momentum = 0.1;

/* In [-1.75, 1.75), exact in bfloat16 about 0. */
static double number(int64_t i, int seed)
{
	uint32_t drawn = ((uint32_t)i + 77777u * (uint32_t)seed) * 2654435761u;

	drawn ^= drawn >> 15;
	return (double)(drawn * 2246822519u >> 25) / 36.0 - 1.75;
}

struct norm {
	struct cpu_batch_norm norm;
	struct op_args run;
	struct pass_control control;
	int64_t values;
	_Alignas(64) unsigned char input[VALUES * 4], output[VALUES * 4], gradient[VALUES * 4],
		input_gradient[VALUES * 4];
	float weight[CHANNELS], bias[CHANNELS], weight_gradient[CHANNELS], bias_gradient[CHANNELS],
		running_mean[CHANNELS], running_var[CHANNELS];
};

static void norm_make(struct norm *n, int row, enum value_type type, bool relu)
{
	memset(n, 0x5a, sizeof(*n));
	n->norm = (struct cpu_batch_norm){
		.type = type,
		.samples = rows[row].samples,
		.groups = rows[row].groups,
		.places = rows[row].places,
		.inner = rows[row].inner,
		.channels = rows[row].channels,
		.relu = relu,
		.relu_backward = relu,
		.eps = eps,
		.momentum = momentum,
	};
	n->values = n->norm.samples * n->norm.groups * n->norm.places * n->norm.inner;
	ck_assert_int_le(n->values, VALUES);
	for (int64_t c = 0; c < n->norm.channels; c++) {
		n->weight[c] = (float)number(c, 3) + 2.0f;
		n->bias[c] = (float)number(c, 4);
		n->running_mean[c] = (float)number(c, 5);
		n->running_var[c] = (float)number(c, 6) + 2.0f;
	}
}

static int64_t channel_of(const struct norm *n, int64_t i)
{
	int64_t plane = i / n->norm.inner / n->norm.places;

	return plane % n->norm.groups * n->norm.inner + i % n->norm.inner;
}

static int64_t sample_of(const struct norm *n, int64_t i)
{
	return i / n->norm.inner / n->norm.places / n->norm.groups;
}

static void fill(struct norm *n, int row)
{
	for (int64_t i = 0; i < n->values; i++) {
		bool pads = channel_of(n, i) >= n->norm.channels;

		value_set(n->norm.type, n->input, i, pads ? 0.0 : rows[row].centre + number(i, 1));
		value_set(n->norm.type, n->gradient, i, pads ? 0.0 : number(i, 2));
	}
	n->control = (struct pass_control){.rows = (int32_t)rows[row].rows};
	n->run = (struct op_args){
		.input = n->input,
		.output = n->output,
		.output_gradient = n->gradient,
		.input_gradient = n->input_gradient,
		.weight = n->weight,
		.bias = n->bias,
		.weight_gradient = n->weight_gradient,
		.bias_gradient = n->bias_gradient,
		.running_mean = n->running_mean,
		.running_var = n->running_var,
		.workspace = malloc(cpu_batch_norm_workspace(&n->norm)),
		.scratch = malloc(cpu_batch_norm_scratch(&n->norm)),
		.control = &n->control,
		.training = true,
	};
	ck_assert(n->run.workspace && n->run.scratch);
}

static void run_all(struct norm *n, int threads)
{
	struct cpu_team team;

	cpu_team_open(&team, threads);
	ck_assert(cpu_batch_norm_forward(&n->norm, &team, &n->run, NULL));
	ck_assert(cpu_batch_norm_backward_weights(&n->norm, &team, &n->run, NULL));
	cpu_batch_norm_backward_data(&n->norm, &team, &n->run);
	free(n->run.workspace);
	free(n->run.scratch);
}

/* --- the definition -------------------------------------------------------------------------- */

struct channel {
	double count, mean, variance; /* of the rows that count; biased */
	double gradient, product;     /* sums of the gradients, and of them times (x - mean) */
};

static double input_at(const struct norm *n, int64_t i)
{
	return value_get(n->norm.type, n->input, i);
}

static double output_at(const struct norm *n, const struct channel *s, int64_t i)
{
	int64_t c = channel_of(n, i);

	return (input_at(n, i) - s->mean) / sqrt(s->variance + eps) * (double)n->weight[c] +
	       (double)n->bias[c];
}

static double gradient_at(const struct norm *n, const struct channel *s, int64_t i)
{
	return n->norm.relu_backward && !(output_at(n, s, i) > 0.0)
		       ? 0.0
		       : value_get(n->norm.type, n->gradient, i);
}

#define EACH_VALUE(n, channel, i) \
	for (int64_t i = 0; i < (n)->values; i++) \
		if (channel_of(n, i) == (channel) && sample_of(n, i) < (n)->control.rows)

static struct channel define(const struct norm *n, int64_t c)
{
	struct channel s = {0};

	EACH_VALUE(n, c, i)
	{
		s.count++;
		s.mean += input_at(n, i);
	}
	s.mean /= s.count > 0 ? s.count : 1;
	EACH_VALUE(n, c, i)
	s.variance += pow(input_at(n, i) - s.mean, 2) / s.count;
	EACH_VALUE(n, c, i)
	{
		s.gradient += gradient_at(n, &s, i);
		s.product += gradient_at(n, &s, i) * (input_at(n, i) - s.mean);
	}
	return s;
}

static double input_gradient_at(const struct norm *n, const struct channel *s, int64_t i)
{
	double std = sqrt(s->variance + eps);

	return (double)n->weight[channel_of(n, i)] / std *
	       (gradient_at(n, s, i) - s->gradient / s->count -
		(input_at(n, i) - s->mean) * s->product / (std * std) / s->count);
}

static void expect(int row, const char *what, int64_t at, double got, double want, double within)
{
	ck_assert_msg(fabs(got - want) <= within, "%s: %s %d: %.9g, not %.9g within %g",
		      rows[row].name, what, (int)at, got, want, within);
}

/* A mean is rounded by half a unit, 2^-25 of the values' size, and so is each result of the few
 * operations after it; gradients are divided by a deviation that may be 1/300 (one value). */
static void expect_values(int row, const struct norm *n, int64_t c, const struct channel *s)
{
	double unit = n->norm.type == VALUE_BFLOAT16 ? 0x1p-8 : 0x1p-23;
	double gain = (double)n->weight[c] / sqrt(s->variance + eps);
	double moved = (fabs(s->mean) + 4) * 0x1p-23 * gain;

	for (int64_t i = 0; i < n->values; i++) {
		double want, got = value_get(n->norm.type, n->output, i);

		if (channel_of(n, i) != c || sample_of(n, i) >= n->control.rows)
			continue;
		want = output_at(n, s, i);
		if (fabs(want) > moved)
			expect(row, "output", i, got, n->norm.relu && want < 0 ? 0 : want,
			       moved + 4 * unit * fabs(want));
		got = value_get(n->norm.type, n->input_gradient, i);
		want = input_gradient_at(n, s, i);
		expect(row, "input gradient", i, got, want,
		       4 * unit * fabs(want) + 16 * 0x1p-23 * gain * (1 + moved));
	}
}

static void expect_channel(int row, const struct norm *n, int64_t c)
{
	struct channel s = define(n, c);
	bool none = s.count == 0;
	double unbiased = s.count > 1 ? s.variance * s.count / (s.count - 1) : 0;
	double mean = number(c, 5), var = (double)((float)number(c, 6) + 2.0f);

	expect(row, "running mean", c, (double)n->running_mean[c],
	       none ? mean : 0.9 * mean + 0.1 * s.mean, 0x1p-22 * (fabs(s.mean) + 2));
	expect(row, "running variance", c, (double)n->running_var[c],
	       s.count > 1 ? 0.9 * var + 0.1 * unbiased : var, 0x1p-21);
	expect(row, "bias gradient", c, (double)n->bias_gradient[c], s.gradient,
	       0x1p-22 * fabs(s.gradient));
	expect(row, "weight gradient", c, (double)n->weight_gradient[c],
	       s.product / sqrt(s.variance + eps),
	       (fabs(s.mean) + 2) * 0x1p-22 * (s.count + 1) / sqrt(s.variance + eps));
	expect_values(row, n, c, &s);
}

/* Of padding, and of rows that do not count. */
static void expect_zeros(int row, const struct norm *n)
{
	for (int64_t i = 0; i < n->values; i++) {
		if (channel_of(n, i) < n->norm.channels && sample_of(n, i) < n->control.rows)
			continue;
		expect(row, "output", i, value_get(n->norm.type, n->output, i), 0, 0);
		expect(row, "input gradient", i, value_get(n->norm.type, n->input_gradient, i), 0,
		       0);
	}
}

/* Row and kind of a loop test. */
static int row_of(int i)
{
	return i / KINDS;
}

static enum value_type type_of(int i)
{
	return i & 1 ? VALUE_BFLOAT16 : VALUE_FLOAT32;
}

START_TEST(norm_by_its_definition)
{
	static struct norm n, two;
	int row = row_of(_i);

	norm_make(&n, row, type_of(_i), _i & 2);
	fill(&n, row);
	run_all(&n, 1);
	for (int64_t c = 0; c < n.norm.channels; c++)
		expect_channel(row, &n, c);
	expect_zeros(row, &n);
	norm_make(&two, row, type_of(_i), _i & 2);
	fill(&two, row);
	run_all(&two, 2);
	two.run = n.run;
	ck_assert_msg(memcmp(&n, &two, sizeof(n)) == 0, "%s: two threads give other bits",
		      rows[row].name);
}
END_TEST

/* By the running mean and variance, which stay. */
START_TEST(evaluation_uses_what_was_learnt)
{
	static struct norm n, before;
	struct cpu_team team;
	int row = row_of(_i);
	double unit = type_of(_i) == VALUE_BFLOAT16 ? 0x1p-7 : 0x1p-21;

	norm_make(&n, row, type_of(_i), _i & 2);
	fill(&n, row);
	before = n;
	cpu_team_open(&team, 1);
	n.run.training = false;
	ck_assert(cpu_batch_norm_forward(&n.norm, &team, &n.run, NULL));
	ck_assert_mem_eq(n.running_mean, before.running_mean, sizeof(n.running_mean));
	ck_assert_mem_eq(n.running_var, before.running_var, sizeof(n.running_var));
	for (int64_t i = 0; i < n.values; i++) {
		int64_t c = channel_of(&n, i);
		struct channel s = {.mean = (double)n.running_mean[c],
				    .variance = (double)n.running_var[c]};
		double want = c < n.norm.channels ? output_at(&n, &s, i) : 0;

		expect(row, "output", i, value_get(type_of(_i), n.output, i),
		       n.norm.relu && want < 0 ? 0 : want,
		       unit * (fabs(want) + rows[row].centre + 8));
	}
	free(n.run.workspace);
	free(n.run.scratch);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch norm");
	TCase *tests = tcase_create("batch norm");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, norm_by_its_definition, 0, ROWS * KINDS);
	tcase_add_loop_test(tests, evaluation_uses_what_was_learnt, 0, ROWS * KINDS);
	return unit_run(suite);
}
