/* SPDX-License-Identifier: MIT */
/* Trials of the convolution that pools. Inputs and weights have so few digits that sums are exact,
 * so outputs and places are equal to the reference's. */
#include "kernels-trial.h"

#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

/* BAD: NaN and infinities. EQUAL: -1, 0 and 1 alone, so that many sums are equal. */
enum { BAD = 1, EQUAL = 2 };

/* n: batch, a: channels of the output, b x c: of the input, d: its channels. */
static const struct shape convolutions[] = {
	{.name = "none", .n = 0, .a = 64, .b = 4, .c = 4, .d = 3, .type = BF16},
	{.name = "bf16", .n = 3, .a = 64, .b = 8, .c = 6, .d = 3, .type = BF16},
	{.name = "fp16", .n = 3, .a = 64, .b = 8, .c = 6, .d = 3, .type = F16},
	{.name = "not finite",
	 .n = 6,
	 .a = 24,
	 .b = 16,
	 .c = 16,
	 .d = 3,
	 .type = BF16,
	 .flags = BAD},
	{.name = "equal values",
	 .n = 3,
	 .a = 40,
	 .b = 8,
	 .c = 8,
	 .d = 1,
	 .type = F16,
	 .flags = EQUAL},
	{.name = "a rest at the end", .n = 2, .a = 10, .b = 7, .c = 9, .d = 3, .type = F16},
	{.name = "one window", .n = 1, .a = 1, .b = 2, .c = 2, .d = 1, .type = BF16},
	{.name = "one line", .n = 1, .a = 8, .b = 3, .c = 37, .d = 2, .type = BF16},
	{.name = "three blocks of channels", .n = 2, .a = 130, .b = 4, .c = 6, .d = 2, .type = F16},
	{.name = "more blocks than are summed",
	 .n = 40,
	 .a = 8,
	 .b = 4,
	 .c = 4,
	 .d = 3,
	 .type = BF16},
	{.name = "more pieces than blocks", .n = 270, .a = 8, .b = 2, .c = 4, .d = 3, .type = BF16},
	{.name = "pieces of an image", .n = 1, .a = 8, .b = 45, .c = 130, .d = 3, .type = BF16},
	{.name = "the widest", .n = 1, .a = 8, .b = 2, .c = 680, .d = 3, .type = F16},
	{.name = "conv1 and pool1 of 32",
	 .n = 32,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 3,
	 .type = BF16,
	 .large = true},
	{.name = "conv1 and pool1 of 512",
	 .n = 512,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 3,
	 .type = BF16,
	 .large = true},
	{.name = "conv1 and pool1 of 512, fp16",
	 .n = 512,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 3,
	 .type = F16,
	 .large = true},
};

static int64_t windows(const struct shape *s)
{
	return s->n * (s->b / 2) * (s->c / 2);
}

static int64_t outputs(const struct shape *s)
{
	return windows(s) * convolution_pool_padded(s->a);
}

static void make_equal(const struct shape *s, struct buffer *b, enum value_type type, int64_t count)
{
	for (int64_t i = 0; s->flags & EQUAL && i < count; i++) {
		double value = value_get(type, b->at[HOST], i);

		value_set(type, b->at[HOST], i, (double)((value > 1) - (value < -1)));
	}
}

/* The padding has values, which must not be used. */
static void add_input(struct trial *t, bool bad)
{
	const struct shape *s = t->shape;
	int64_t count = s->n * s->b * s->c * CONVOLUTION_POOL_PIXEL;

	make_equal(s, add_values(t, "input", s->type, count, bad), s->type, count);
	t->moved = (double)(s->n * s->b * s->c) * 16;
}

/* Two bits for each value, up to whole words. */
static struct buffer *add_places(struct trial *t)
{
	return add_buffer(t, "places", (size_t)(outputs(t->shape) / 8 * 2 + 3) / 4 * 4);
}

static void prepare_forward(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t weights = (int64_t)s->a * s->d * 9;
	struct buffer *places;

	add_input(t, s->flags & BAD);
	make_equal(s, add_values(t, "weight", VALUE_FLOAT32, weights, false), VALUE_FLOAT32,
		   weights);
	add_values(t, "bias", VALUE_FLOAT32, s->a, false);
	add_output(t, "output", s->type, outputs(s), EXACT);
	places = add_places(t);
	add_view(places, (struct view){.count = (int64_t)places->bytes / 4, .integers = true});
	t->moved += 2.25 * (double)outputs(s);
}

static cudaError_t run_forward(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct convolution_pool_args args = {.input = at(t, 0, place),
						   .weight = at(t, 1, place),
						   .bias = at(t, 2, place),
						   .output = at(t, 3, place),
						   .places = at(t, 4, place),
						   .batch = s->n,
						   .height = s->b,
						   .width = s->c,
						   .channels = s->d,
						   .out = s->a,
						   .type = s->type};

	return RUN(convolution_pool, t, place, &args);
}

const struct kernel_test test_convolution_pool = {"convolution_pool", SHAPES(convolutions),
						  prepare_forward, run_forward};

static struct convolution_pool_backward_args backward_args(const struct trial *t, enum place place)
{
	const struct shape *s = t->shape;

	return (struct convolution_pool_backward_args){.input = at(t, 0, place),
						       .output_gradient = at(t, 1, place),
						       .output = at(t, 2, place),
						       .places = at(t, 3, place),
						       .weight_gradient = at(t, 4, place),
						       .bias_gradient = at(t, 5, place),
						       .scratch = at(t, 6, place),
						       .batch = s->n,
						       .height = s->b,
						       .width = s->c,
						       .channels = s->d,
						       .out = s->a,
						       .type = s->type};
}

/* The products of two values are at most 16, not 4, so there are as many more. */
static void add_gradient(struct trial *t, const char *name, int64_t count)
{
	add_output(t, name, VALUE_FLOAT32, count, SUMMED)->views[0].summed =
		16 * (double)windows(t->shape);
}

static void prepare_backward(struct trial *t)
{
	const struct shape *s = t->shape;
	struct convolution_pool_backward_args args;
	uint16_t *places;

	add_input(t, false);
	add_values(t, "output gradient", s->type, outputs(s), false);
	add_values(t, "output", s->type, outputs(s), s->flags & BAD);
	places = add_places(t)->at[HOST];
	for (int64_t i = 0; i < outputs(s) / 8; i++)
		places[i] = (uint16_t)random_u32(&t->random);
	add_gradient(t, "weights' gradient", (int64_t)s->a * s->d * 9);
	add_gradient(t, "bias' gradient", s->a);
	args = backward_args(t, HOST);
	add_scratch(t, convolution_pool_backward_scratch(&args));
	t->moved += 4.25 * (double)outputs(s);
}

static cudaError_t run_backward(struct trial *t, enum place place)
{
	const struct convolution_pool_backward_args args = backward_args(t, place);

	return RUN(convolution_pool_backward, t, place, &args);
}

const struct kernel_test test_convolution_pool_backward = {
	"convolution_pool_backward", SHAPES(convolutions), prepare_backward, run_backward};
