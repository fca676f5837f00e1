/* SPDX-License-Identifier: MIT */
/* Trials of global average pooling. */
#include "kernels-trial.h"

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

enum { BAD = 1 };

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
