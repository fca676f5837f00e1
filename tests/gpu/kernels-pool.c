/* SPDX-License-Identifier: MIT */
/* Trials of global average pooling, and of max-pooling whose windows overlap. */
#include "kernels-trial.h"

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

enum { BAD = 1, RELU = 2, SUMS = 4, NO_PLACES = 8 };

/* n: batch, a: channels with padding, b: places of a sample, d: channels. */
static const struct shape means[] = {
	{.name = "no batch", .n = 0, .a = 8, .b = 4, .d = 8},
	{.name = "no channels", .n = 2, .a = 0, .b = 4, .d = 0},
	{.name = "one value", .n = 1, .a = 1, .b = 1, .d = 1},
	{.name = "float", .n = 5, .a = 64, .b = 49, .d = 64},
	{.name = "bf16", .n = 5, .a = 64, .b = 49, .d = 64, .type = BF16},
	{.name = "fp16, not finite", .n = 5, .a = 64, .b = 49, .d = 64, .type = F16, .flags = BAD},
	{.name = "padding", .n = 5, .a = 32, .b = 12, .d = 27, .type = BF16},
	{.name = "odd channels", .n = 3, .a = 33, .b = 20, .d = 33},
	{.name = "odd channels with padding", .n = 3, .a = 37, .b = 9, .d = 35, .type = F16},
	{.name = "one place", .n = 9, .a = 16, .b = 1, .d = 16, .type = BF16},
	{.name = "many places", .n = 2, .a = 8, .b = 1000, .d = 7, .type = F16},
	{.name = "wide", .n = 3, .a = 2056, .b = 4, .d = 2056, .type = BF16},
	{.name = "more samples than blocks", .n = 1100, .a = 24, .b = 3, .d = 21, .type = BF16},
	{.name = "2048 of 7 x 7, 32",
	 .n = 32,
	 .a = 2048,
	 .b = 49,
	 .d = 2048,
	 .type = BF16,
	 .large = true},
	{.name = "2048 of 7 x 7, 256",
	 .n = 256,
	 .a = 2048,
	 .b = 49,
	 .d = 2048,
	 .type = BF16,
	 .large = true},
	{.name = "2048 of 7 x 7, 32, float", .n = 32, .a = 2048, .b = 49, .d = 2048, .large = true},
};

static double bytes_of_means(const struct shape *s)
{
	return (double)(s->n * s->b * s->a + s->n * s->d) * (double)value_bytes(s->type);
}

/* fp32 holds the sums of these values whole. */
static void prepare_mean_pool(struct trial *t)
{
	const struct shape *s = t->shape;

	add_values(t, "input", s->type, s->n * s->b * s->a, s->flags & BAD);
	add_output(t, "output", s->type, s->n * s->d, EXACT);
	t->moved = bytes_of_means(s);
}

static cudaError_t run_mean_pool(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct mean_pool_args args = {
		at(t, 0, place), at(t, 1, place), s->n, s->b, s->d, s->a, s->type};

	return RUN(mean_pool, t, place, &args);
}

const struct kernel_test test_mean_pool = {"mean_pool", SHAPES(means), prepare_mean_pool,
					   run_mean_pool};

static void prepare_mean_pool_backward(struct trial *t)
{
	const struct shape *s = t->shape;

	add_values(t, "output gradient", s->type, s->n * s->d, s->flags & BAD);
	add_output(t, "input gradient", s->type, s->n * s->b * s->a, EXACT);
	t->moved = bytes_of_means(s);
}

static cudaError_t run_mean_pool_backward(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct mean_pool_backward_args args = {
		at(t, 0, place), at(t, 1, place), s->n, s->b, s->d, s->a, s->type};

	return RUN(mean_pool_backward, t, place, &args);
}

const struct kernel_test test_mean_pool_backward = {
	"mean_pool_backward", SHAPES(means), prepare_mean_pool_backward, run_mean_pool_backward};

/* The sides of a pooling: n: batch, a: channels, b x c: of the input, d: kernel, e: stride and pad,
 * as stride * 16 + pad. */
#define WINDOWS(STRIDE, PAD) ((STRIDE)*16 + (PAD))

static const struct shape pools[] = {
	{.name = "none", .n = 0, .a = 8, .b = 4, .c = 4, .d = 3, .e = WINDOWS(2, 1), .flags = SUMS},
	{.name = "float",
	 .n = 3,
	 .a = 8,
	 .b = 8,
	 .c = 6,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .flags = RELU | SUMS | BAD},
	{.name = "bf16",
	 .n = 3,
	 .a = 64,
	 .b = 8,
	 .c = 6,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = RELU},
	{.name = "fp16",
	 .n = 3,
	 .a = 24,
	 .b = 9,
	 .c = 7,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = F16,
	 .flags = RELU | SUMS},
	{.name = "without places",
	 .n = 3,
	 .a = 8,
	 .b = 8,
	 .c = 6,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = NO_PLACES | BAD},
	{.name = "odd channels",
	 .n = 3,
	 .a = 33,
	 .b = 9,
	 .c = 7,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = RELU | SUMS},
	{.name = "one apart",
	 .n = 2,
	 .a = 16,
	 .b = 6,
	 .c = 7,
	 .d = 3,
	 .e = WINDOWS(1, 1),
	 .flags = SUMS},
	{.name = "all in one window",
	 .n = 2,
	 .a = 16,
	 .b = 3,
	 .c = 3,
	 .d = 4,
	 .e = WINDOWS(3, 2),
	 .type = F16},
	{.name = "gaps between windows",
	 .n = 2,
	 .a = 16,
	 .b = 13,
	 .c = 11,
	 .d = 2,
	 .e = WINDOWS(5, 1),
	 .type = BF16,
	 .flags = RELU | SUMS},
	{.name = "side by side, with padding",
	 .n = 2,
	 .a = 8,
	 .b = 7,
	 .c = 9,
	 .d = 3,
	 .e = WINDOWS(3, 1)},
	{.name = "a rest at the end",
	 .n = 2,
	 .a = 8,
	 .b = 10,
	 .c = 11,
	 .d = 3,
	 .e = WINDOWS(4, 0),
	 .flags = RELU},
	{.name = "the greatest window",
	 .n = 2,
	 .a = 8,
	 .b = 19,
	 .c = 20,
	 .d = 16,
	 .e = WINDOWS(3, 8),
	 .type = F16,
	 .flags = SUMS},
	{.name = "halves",
	 .n = 3,
	 .a = 64,
	 .b = 8,
	 .c = 6,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .type = BF16,
	 .flags = RELU | SUMS},
	{.name = "a rest below",
	 .n = 5,
	 .a = 16,
	 .b = 9,
	 .c = 8,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .type = BF16,
	 .flags = RELU | SUMS | BAD},
	{.name = "pool1 of 32",
	 .n = 32,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool1 of 512",
	 .n = 512,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool2 of 512",
	 .n = 512,
	 .a = 128,
	 .b = 16,
	 .c = 16,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool1 of 256, float",
	 .n = 256,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .e = WINDOWS(2, 0),
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "wide",
	 .n = 2,
	 .a = 1032,
	 .b = 5,
	 .c = 4,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = SUMS},
	{.name = "ResNet's of 8",
	 .n = 8,
	 .a = 64,
	 .b = 112,
	 .c = 112,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = RELU,
	 .large = true},
	{.name = "ResNet's of 32",
	 .n = 32,
	 .a = 64,
	 .b = 112,
	 .c = 112,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = RELU,
	 .large = true},
	{.name = "ResNet's of 32, sums",
	 .n = 32,
	 .a = 64,
	 .b = 112,
	 .c = 112,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "ResNet's of 32, float",
	 .n = 32,
	 .a = 64,
	 .b = 112,
	 .c = 112,
	 .d = 3,
	 .e = WINDOWS(2, 1),
	 .flags = RELU,
	 .large = true},
};

static int32_t pooled_side(const struct shape *s, int32_t side)
{
	return (side + 2 * (s->e % 16) - s->d) / (s->e / 16) + 1;
}

static struct max_pool_shape pool_of(const struct shape *s)
{
	return (struct max_pool_shape){.batch = s->n,
				       .height = s->b,
				       .width = s->c,
				       .channels = s->a,
				       .out_height = pooled_side(s, s->b),
				       .out_width = pooled_side(s, s->c),
				       .kernel = s->d,
				       .stride = s->e / 16,
				       .pad = s->e % 16,
				       .type = s->type};
}

static int64_t inputs_of(const struct shape *s)
{
	return s->n * s->b * s->c * s->a;
}

static int64_t outputs_of(const struct shape *s)
{
	return s->n * pooled_side(s, s->b) * pooled_side(s, s->c) * s->a;
}

/* Places are bytes, up to whole words: the bytes behind the last place stay as they were. */
static struct buffer *add_places(struct trial *t)
{
	return add_buffer(t, "places", (size_t)(outputs_of(t->shape) + 3) / 4 * 4);
}

static void prepare_max_pool(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *places;

	add_values(t, "input", s->type, inputs_of(s), s->flags & BAD);
	add_output(t, "output", s->type, outputs_of(s), EXACT);
	places = add_places(t);
	add_view(places, (struct view){.count = (int64_t)places->bytes / 4, .integers = true});
	t->moved = (double)(inputs_of(s) + outputs_of(s)) * (double)value_bytes(s->type) +
		   (double)outputs_of(s);
}

static cudaError_t run_max_pool(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct max_pool_args args = {pool_of(s), at(t, 0, place), at(t, 1, place),
					   s->flags & NO_PLACES ? NULL : at(t, 2, place)};

	return RUN(max_pool, t, place, &args);
}

const struct kernel_test test_max_pool = {"max_pool", SHAPES(pools), prepare_max_pool,
					  run_max_pool};

/* Any places, also outside: those get nothing. fp32 holds the sums of a place whole. */
static void prepare_max_unpool(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct max_pool_shape shape = pool_of(s);
	uint8_t *places;

	add_values(t, "output gradient", s->type, outputs_of(s),
		   s->flags & BAD && !(s->flags & SUMS));
	add_values(t, "output", s->type, s->flags & RELU ? outputs_of(s) : 0, s->flags & BAD);
	places = add_places(t)->at[HOST];
	for (int64_t i = 0; i < outputs_of(s); i++)
		places[i] = (uint8_t)(random_u32(&t->random) % (unsigned)(s->d * s->d));
	add_output(t, "input gradient", s->type, inputs_of(s), EXACT);
	add_output(t, "sums", F32, s->flags & SUMS ? s->a : 0, SUMMED)->views[0].summed =
		16 * (double)outputs_of(s) / s->a;
	add_scratch(t, max_pool_scratch(&shape));
	t->moved = (double)(inputs_of(s) + (s->flags & RELU ? 2 : 1) * outputs_of(s)) *
			   (double)value_bytes(s->type) +
		   (double)outputs_of(s);
}

static cudaError_t run_max_unpool(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct max_pool_backward_args args = {
		.shape = pool_of(s),
		.output_gradient = at(t, 0, place),
		.output = at(t, 1, place),
		.places = at(t, 2, place),
		.input_gradient = at(t, 3, place),
		.sums = at(t, 4, place),
		.scratch = at(t, 5, place),
	};

	return RUN(max_pool_backward, t, place, &args);
}

const struct kernel_test test_max_pool_backward = {"max_pool_backward", SHAPES(pools),
						   prepare_max_unpool, run_max_unpool};
