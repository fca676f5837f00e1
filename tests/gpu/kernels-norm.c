/* SPDX-License-Identifier: MIT */
/* Trials of batch normalization. */
#include <math.h>

#include "kernels-trial.h"

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

/* RANK: statistics and sums are values for other ranks. */
enum { RELU = 1, EVALUATES = 2, FAR = 4, IN_PLACE = 8, BAD = 16, FAINT = 32, RANK = 64 };

/* n: batch, a: channels with padding, b: places of a sample, c: samples that count, d: channels. */
static const struct shape norms[] = {
	{.name = "no batch", .n = 0, .a = 8, .b = 4, .c = 0, .d = 8},
	{.name = "no channels", .n = 3, .a = 0, .b = 4, .c = 3, .d = 0},
	{.name = "no rows", .n = 3, .a = 16, .b = 5, .c = 0, .d = 16, .flags = RELU},
	{.name = "one value", .n = 1, .a = 1, .b = 1, .c = 1, .d = 1},
	{.name = "one row", .n = 4, .a = 24, .b = 7, .c = 1, .d = 24, .type = BF16},
	{.name = "one row of one place", .n = 2, .a = 8, .b = 1, .c = 1, .d = 8, .flags = RELU},
	{.name = "float", .n = 6, .a = 64, .b = 49, .c = 6, .d = 64},
	{.name = "bf16, ReLU",
	 .n = 6,
	 .a = 64,
	 .b = 49,
	 .c = 6,
	 .d = 64,
	 .type = BF16,
	 .flags = RELU},
	{.name = "fp16, fewer rows",
	 .n = 9,
	 .a = 40,
	 .b = 25,
	 .c = 7,
	 .d = 40,
	 .type = F16,
	 .flags = RELU},
	{.name = "float, fewer rows",
	 .n = 9,
	 .a = 8,
	 .b = 4,
	 .c = 5,
	 .d = 8,
	 .flags = RELU | IN_PLACE},
	{.name = "padding", .n = 5, .a = 32, .b = 12, .c = 4, .d = 27, .type = BF16, .flags = RELU},
	{.name = "padding to four", .n = 5, .a = 12, .b = 12, .c = 5, .d = 9, .type = F16},
	{.name = "odd channels", .n = 5, .a = 33, .b = 20, .c = 5, .d = 33, .flags = RELU},
	{.name = "odd channels, bf16, in place",
	 .n = 3,
	 .a = 67,
	 .b = 9,
	 .c = 2,
	 .d = 67,
	 .type = BF16,
	 .flags = IN_PLACE},
	{.name = "two of three channels", .n = 40, .a = 3, .b = 30, .c = 40, .d = 2, .flags = RELU},
	{.name = "evaluation", .n = 4, .a = 24, .b = 10, .c = 3, .d = 24, .flags = EVALUATES},
	{.name = "evaluation, padding, bf16",
	 .n = 4,
	 .a = 24,
	 .b = 10,
	 .c = 3,
	 .d = 20,
	 .type = BF16,
	 .flags = EVALUATES | RELU},
	{.name = "far from zero", .n = 8, .a = 16, .b = 20, .c = 8, .d = 16, .flags = FAR | RELU},
	{.name = "not finite", .n = 8, .a = 16, .b = 20, .c = 7, .d = 16, .flags = BAD | RELU},
	{.name = "fp16 rounds outputs to zero",
	 .n = 4,
	 .a = 16,
	 .b = 9,
	 .c = 4,
	 .d = 16,
	 .type = F16,
	 .flags = FAINT | RELU},
	{.name = "more rows than room", .n = 3, .a = 16, .b = 6, .c = 99, .d = 16, .type = F16},
	{.name = "wide", .n = 2, .a = 2056, .b = 4, .c = 2, .d = 2056, .type = BF16, .flags = RELU},
	{.name = "more rows than threads begin with",
	 .n = 7,
	 .a = 16392,
	 .b = 29,
	 .c = 7,
	 .d = 16392,
	 .type = BF16},
	{.name = "many rows", .n = 70, .a = 8, .b = 64, .c = 69, .d = 8, .type = F16},
	{.name = "a rank, no rows", .n = 3, .a = 16, .b = 5, .c = 0, .d = 16, .flags = RELU | RANK},
	{.name = "a rank, one row",
	 .n = 4,
	 .a = 24,
	 .b = 7,
	 .c = 1,
	 .d = 24,
	 .type = BF16,
	 .flags = RANK},
	{.name = "a rank, fp16, fewer rows",
	 .n = 9,
	 .a = 40,
	 .b = 25,
	 .c = 7,
	 .d = 40,
	 .type = F16,
	 .flags = RELU | RANK},
	{.name = "a rank, padding",
	 .n = 5,
	 .a = 32,
	 .b = 12,
	 .c = 4,
	 .d = 27,
	 .type = BF16,
	 .flags = RELU | RANK},
	{.name = "a rank, odd channels", .n = 5, .a = 33, .b = 20, .c = 5, .d = 33, .flags = RANK},
	{.name = "a rank, far from zero",
	 .n = 8,
	 .a = 16,
	 .b = 20,
	 .c = 8,
	 .d = 16,
	 .flags = FAR | RELU | RANK},
	{.name = "a rank, more rows than threads begin with",
	 .n = 7,
	 .a = 16392,
	 .b = 29,
	 .c = 7,
	 .d = 16392,
	 .type = BF16,
	 .flags = RANK},
	{.name = "64 of 112 x 112, 8",
	 .n = 8,
	 .a = 64,
	 .b = 112 * 112,
	 .c = 8,
	 .d = 64,
	 .type = BF16,
	 .flags = RELU,
	 .large = true},
	{.name = "64 of 112 x 112, 32",
	 .n = 32,
	 .a = 64,
	 .b = 112 * 112,
	 .c = 32,
	 .d = 64,
	 .type = BF16,
	 .flags = RELU,
	 .large = true},
	{.name = "256 of 56 x 56, 8",
	 .n = 8,
	 .a = 256,
	 .b = 56 * 56,
	 .c = 8,
	 .d = 256,
	 .type = BF16,
	 .large = true},
	{.name = "256 of 56 x 56, 32",
	 .n = 32,
	 .a = 256,
	 .b = 56 * 56,
	 .c = 32,
	 .d = 256,
	 .type = BF16,
	 .large = true},
	{.name = "256 of 56 x 56, 32, float",
	 .n = 32,
	 .a = 256,
	 .b = 56 * 56,
	 .c = 32,
	 .d = 256,
	 .flags = RELU,
	 .large = true},
	{.name = "2048 of 7 x 7, 32",
	 .n = 32,
	 .a = 2048,
	 .b = 7 * 7,
	 .c = 32,
	 .d = 2048,
	 .type = BF16,
	 .large = true},
};

static struct batch_norm_shape shape_of(const struct shape *s)
{
	return (struct batch_norm_shape){.rows = s->n * s->b,
					 .columns = s->a,
					 .channels = s->d,
					 .places = s->b,
					 .type = s->type};
}

static int64_t values_of(const struct shape *s)
{
	return s->n * s->b * s->a;
}

static double bytes_of(const struct shape *s)
{
	return (double)values_of(s) * (double)value_bytes(s->type);
}

static struct buffer *add_floats(struct trial *t, const char *name, int64_t count)
{
	return add_values(t, name, F32, count, false);
}

static void add_control(struct trial *t)
{
	struct buffer *b = add_buffer(t, "control", sizeof(struct pass_control));

	*(struct pass_control *)b->at[HOST] = (struct pass_control){.rows = t->shape->c};
}

/* Random ones, with FAINT of outputs that are at most 2^-21. */
static struct buffer *add_saved(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *b = add_floats(t, "saved", BATCH_NORM_SAVED * s->a);
	float *scales = (float *)b->at[HOST] + BATCH_NORM_SCALE * s->a;

	for (int i = 0; s->flags & FAINT && i < 2 * s->a; i++) /* SCALE, SHIFT */
		scales[i] *= 0x1p-27f;
	return b;
}

/* `from` up to `end` of the arrays of `saved`. */
static void view_saved(struct buffer *saved, const struct shape *s, int from, int end,
		       double summed)
{
	add_view(saved, (struct view){.offset = (size_t)(from * s->a) * sizeof(float),
				      .count = (int64_t)(end - from) * s->a,
				      .closeness = SUMMED,
				      .summed = summed});
}

/* Of fp32 sums, where `summed` counts those of doubles. */
static void add_rank_values(struct trial *t, double summed)
{
	const struct batch_norm_shape shape = shape_of(t->shape);
	bool any = t->shape->flags & RANK && shape.columns > 0;

	add_output(t, "values of the rank", VALUE_FLOAT64, any ? batch_norm_rank_values(&shape) : 0,
		   SUMMED)
		->views[0]
		.summed = summed * 0x1p42;
}

/* Random values whose sums fp32 holds whole, if they are few, and then MEAN_REST too. */
static void prepare_statistics(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct batch_norm_shape shape = shape_of(s);
	struct buffer *b = add_values(t, "input", s->type, values_of(s), false);

	for (int64_t i = 0; s->flags & FAR && i < values_of(s); i++)
		value_set(s->type, b->at[HOST], i, value_get(s->type, b->at[HOST], i) + 10000);
	add_control(t);
	add_floats(t, "weight", s->d);
	add_floats(t, "bias", s->d);
	b = add_floats(t, "running mean", s->d);
	add_view(b, (struct view){.count = s->d, .closeness = SUMMED, .summed = 1});
	b = add_floats(t, "running variance", s->d);
	for (int c = 0; c < s->d; c++)
		((float *)b->at[HOST])[c] += 4.5f;
	add_view(b, (struct view){.count = s->d, .closeness = SUMMED, .summed = 1});
	b = add_buffer(t, "saved", (size_t)(BATCH_NORM_SAVED * s->a) * sizeof(float));
	view_saved(b, s, BATCH_NORM_MEAN, BATCH_NORM_MEAN_GRADIENT, 1);
	add_rank_values(t, 64);
	add_scratch(t, batch_norm_scratch(&shape));
	t->moved = s->flags & EVALUATES ? 0 : bytes_of(s);
}

static cudaError_t run_statistics(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct batch_norm_statistics_args args = {
		.shape = shape_of(s),
		.input = at(t, 0, place),
		.control = at(t, 1, place),
		.weight = at(t, 2, place),
		.bias = at(t, 3, place),
		.running_mean = at(t, 4, place),
		.running_var = at(t, 5, place),
		.saved = at(t, 6, place),
		.scratch = at(t, 8, place),
		.eps = 1e-5,
		.momentum = 0.1,
		.training = !(s->flags & EVALUATES),
		.values = at(t, 7, place),
	};

	return RUN(batch_norm_statistics, t, place, &args);
}

const struct kernel_test test_batch_norm_statistics = {"batch_norm_statistics", SHAPES(norms),
						       prepare_statistics, run_statistics};

/* n: ranks, a: channels with padding, d: channels, c: rows of rank 0; rank r has r more, except
 * that the e-th has none (0: all have some). */
static const struct shape joins[] = {
	{.name = "no channels", .n = 2, .a = 0, .c = 1, .d = 0},
	{.name = "one rank", .n = 1, .a = 8, .c = 5, .d = 8},
	{.name = "two ranks", .n = 2, .a = 16, .c = 6, .d = 16},
	{.name = "unequal ranks, padding", .n = 5, .a = 32, .c = 3, .d = 27},
	{.name = "one row in all", .n = 2, .a = 8, .c = 1, .d = 8, .e = 2},
	{.name = "a rank without rows", .n = 4, .a = 33, .c = 2, .d = 33, .e = 3},
	{.name = "no rows", .n = 1, .a = 24, .c = 9, .d = 20, .e = 1},
	{.name = "far from zero", .n = 3, .a = 8, .c = 4, .d = 8, .flags = FAR},
	{.name = "not finite", .n = 3, .a = 64, .c = 4, .d = 64, .flags = BAD},
	{.name = "many ranks", .n = 512, .a = 72, .c = 1, .d = 70, .e = 100},
	{.name = "more channels than threads begin with",
	 .n = 2,
	 .a = LAUNCH_MAX_BLOCKS * LAUNCH_THREADS + 40,
	 .c = 3,
	 .d = LAUNCH_MAX_BLOCKS * LAUNCH_THREADS + 33},
};

/* Of all ranks: their rows, then two values of each channel. */
static void add_all(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct batch_norm_shape shape = shape_of(s);
	int64_t values = batch_norm_rank_values(&shape);
	struct buffer *b =
		add_values(t, "all", VALUE_FLOAT64, s->n * values, (s->flags & BAD) != 0);
	double *all = b->at[HOST];

	for (int64_t r = 0; r < s->n; r++)
		for (int64_t i = 0; i < values; i++) {
			double *value = &all[r * values + i];
			bool none = r + 1 == s->e;

			if (i == 0)
				*value = none ? 0 : (double)(s->c + r);
			else if (none)
				*value = 0;
			else if (s->flags & FAR && i <= s->d)
				*value += 10000;
			else if (i > s->d)
				*value = fabs(*value); /* a variance; or a sum */
		}
}

static void prepare_join_statistics(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *b;

	add_all(t);
	add_floats(t, "weight", s->d);
	add_floats(t, "bias", s->d);
	b = add_floats(t, "running mean", s->d);
	add_view(b, (struct view){.count = s->d, .closeness = SUMMED, .summed = 1});
	b = add_floats(t, "running variance", s->d);
	for (int c = 0; c < s->d; c++)
		((float *)b->at[HOST])[c] += 4.5f;
	add_view(b, (struct view){.count = s->d, .closeness = SUMMED, .summed = 1});
	b = add_buffer(t, "saved", (size_t)(BATCH_NORM_SAVED * s->a) * sizeof(float));
	view_saved(b, s, BATCH_NORM_MEAN, BATCH_NORM_MEAN_GRADIENT, 1);
}

static cudaError_t run_join_statistics(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct batch_norm_join_statistics_args args = {
		.shape = shape_of(s),
		.all = at(t, 0, place),
		.ranks = (int32_t)s->n,
		.weight = at(t, 1, place),
		.bias = at(t, 2, place),
		.running_mean = at(t, 3, place),
		.running_var = at(t, 4, place),
		.saved = at(t, 5, place),
		.eps = 1e-5,
		.momentum = 0.1,
	};

	return RUN(batch_norm_join_statistics, t, place, &args);
}

const struct kernel_test test_batch_norm_join_statistics = {
	"batch_norm_join_statistics", SHAPES(joins), prepare_join_statistics, run_join_statistics};

static void prepare_normalize(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *b = add_values(t, "input", s->type, values_of(s), s->flags & BAD);

	if (s->flags & IN_PLACE)
		add_view(b, (struct view){.count = values_of(s), .type = s->type});
	add_control(t);
	add_saved(t);
	add_output(t, "output", s->type, s->flags & IN_PLACE ? 0 : values_of(s), EXACT);
	t->moved = 2 * bytes_of(s);
}

static cudaError_t run_normalize(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct batch_norm_normalize_args args = {
		.shape = shape_of(s),
		.input = at(t, 0, place),
		.control = s->flags & EVALUATES ? NULL : at(t, 1, place),
		.saved = at(t, 2, place),
		.output = at(t, s->flags & IN_PLACE ? 0 : 3, place),
		.relu = s->flags & RELU,
	};

	return RUN(batch_norm_normalize, t, place, &args);
}

const struct kernel_test test_batch_norm_normalize = {"batch_norm_normalize", SHAPES(norms),
						      prepare_normalize, run_normalize};

/* The gradients' products with input - MEAN are up to 8 times as large as the gradients, and what
 * follows from them is multiplied by INVERSE_STD, which is at most 4 here. */
static void prepare_sums(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct batch_norm_shape shape = shape_of(s);
	double rows = (double)batch_norm_rows(&shape, s->c);
	struct buffer *b;

	add_values(t, "input", s->type, values_of(s), false);
	add_values(t, "output gradient", s->type, values_of(s), false);
	add_control(t);
	add_output(t, "weight gradient", F32, s->d, SUMMED)->views[0].summed = 32 * 32 * rows;
	add_output(t, "bias gradient", F32, s->d, SUMMED)->views[0].summed = rows;
	b = add_saved(t);
	view_saved(b, s, BATCH_NORM_MEAN, BATCH_NORM_SAVED, 32 * 32 * 4 * 4);
	add_rank_values(t, 8 * 8 * rows);
	add_scratch(t, batch_norm_scratch(&shape));
	t->moved = 2 * bytes_of(s);
}

static cudaError_t run_sums(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct batch_norm_sums_args args = {
		.shape = shape_of(s),
		.input = at(t, 0, place),
		.output_gradient = at(t, 1, place),
		.control = at(t, 2, place),
		.weight_gradient = at(t, 3, place),
		.bias_gradient = at(t, 4, place),
		.saved = at(t, 5, place),
		.scratch = at(t, 7, place),
		.relu_backward = s->flags & RELU,
		.values = at(t, 6, place),
	};

	return RUN(batch_norm_sums, t, place, &args);
}

const struct kernel_test test_batch_norm_sums = {"batch_norm_sums", SHAPES(norms), prepare_sums,
						 run_sums};

static void prepare_join_sums(struct trial *t)
{
	add_all(t);
	view_saved(add_saved(t), t->shape, BATCH_NORM_MEAN, BATCH_NORM_SAVED, 32 * 32 * 4 * 4);
}

static cudaError_t run_join_sums(struct trial *t, enum place place)
{
	const struct batch_norm_join_sums_args args = {
		.shape = shape_of(t->shape),
		.all = at(t, 0, place),
		.ranks = (int32_t)t->shape->n,
		.saved = at(t, 1, place),
	};

	return RUN(batch_norm_join_sums, t, place, &args);
}

const struct kernel_test test_batch_norm_join_sums = {"batch_norm_join_sums", SHAPES(joins),
						      prepare_join_sums, run_join_sums};

static void prepare_backward(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *b;

	add_values(t, "input", s->type, values_of(s), s->flags & BAD);
	b = add_values(t, "output gradient", s->type, values_of(s), s->flags & BAD);
	if (s->flags & IN_PLACE)
		add_view(b, (struct view){.count = values_of(s), .type = s->type});
	add_control(t);
	add_saved(t);
	add_output(t, "input gradient", s->type, s->flags & IN_PLACE ? 0 : values_of(s), EXACT);
	t->moved = 3 * bytes_of(s);
}

static cudaError_t run_backward(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct batch_norm_backward_args args = {
		.shape = shape_of(s),
		.input = at(t, 0, place),
		.output_gradient = at(t, 1, place),
		.control = at(t, 2, place),
		.saved = at(t, 3, place),
		.input_gradient = at(t, s->flags & IN_PLACE ? 1 : 4, place),
		.relu_backward = s->flags & RELU,
	};

	return RUN(batch_norm_backward, t, place, &args);
}

const struct kernel_test test_batch_norm_backward = {"batch_norm_backward", SHAPES(norms),
						     prepare_backward, run_backward};
