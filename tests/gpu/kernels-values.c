/* SPDX-License-Identifier: MIT */
/* Trials of kernels that take values one by one, move them, or sum them. */
#include "kernels-trial.h"

#include <string.h>
#include <time.h>

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

static void add_changed(struct buffer *b, enum value_type type, int64_t count)
{
	add_view(b, (struct view){.count = count, .type = type});
}

/* n: count; a, b: elements before the first of each array. */
static const struct shape adds[] = {
	{.name = "none", .n = 0},
	{.name = "one", .n = 1},
	{.name = "odd", .n = 1027},
	{.name = "not aligned", .n = 1027, .a = 3, .b = 3},
	{.name = "aligned apart", .n = 1027, .a = 1, .b = 2},
	{.name = "more than resident threads", .n = 5000001, .a = 1, .b = 1},
	{.name = "convnet's gradients", .n = 4275594, .large = true},
	{.name = "64 Mi", .n = 1 << 26, .large = true},
};

static void prepare_add(struct trial *t)
{
	const struct shape *s = t->shape;

	add_changed(add_values(t, "sum", F32, s->n + s->a, true), F32, s->n + s->a);
	add_values(t, "more", F32, s->n + s->b, true);
	t->moved = 12.0 * (double)s->n;
}

static cudaError_t run_add(struct trial *t, enum place place)
{
	const struct accumulate_args args = {at_value(t, 0, place, F32, t->shape->a),
					     at_value(t, 1, place, F32, t->shape->b), t->shape->n};

	return RUN(accumulate, t, place, &args);
}

const struct kernel_test test_accumulate = {"accumulate", SHAPES(adds), prepare_add, run_add};

/* With flags 1 ReLU, with 2 the output lies where a lies, with 4 where b lies. */
static const struct shape additions[] = {
	{.name = "none", .n = 0},
	{.name = "one", .n = 1, .flags = 1},
	{.name = "float", .n = 1027},
	{.name = "float with ReLU", .n = 1027, .flags = 1},
	{.name = "bf16 over a", .n = 1027, .type = BF16, .flags = 2},
	{.name = "bf16 with ReLU", .n = 1027, .type = BF16, .flags = 1},
	{.name = "fp16 over b with ReLU", .n = 1027, .type = F16, .flags = 5},
	{.name = "more than resident threads", .n = 5000001},
	{.name = "bf16, 64 Mi", .n = 1 << 26, .type = BF16, .flags = 1, .large = true},
};

/* The buffer that an addition writes. */
static int addition_output(const struct shape *s)
{
	return s->flags & 2 ? 0 : s->flags & 4 ? 1 : 2;
}

static void prepare_addition(struct trial *t)
{
	const struct shape *s = t->shape;
	struct buffer *a = add_values(t, "a", s->type, s->n, true);
	struct buffer *b = add_values(t, "b", s->type, s->n, true);

	if (addition_output(s) == 2)
		add_output(t, "output", s->type, s->n, EXACT);
	else
		add_changed(addition_output(s) ? b : a, s->type, s->n);
	t->moved = 3.0 * (double)s->n * (double)value_bytes(s->type);
}

static cudaError_t run_addition(struct trial *t, enum place place)
{
	const struct residual_add_args args = {
		at(t, 0, place), at(t, 1, place),     at(t, addition_output(t->shape), place),
		t->shape->n,     t->shape->flags & 1, t->shape->type};

	return RUN(residual_add, t, place, &args);
}

const struct kernel_test test_residual_add = {"residual_add", SHAPES(additions), prepare_addition,
					      run_addition};

/* As adds, from `type` to `to`. */
static const struct shape converts[] = {
	{.name = "none", .n = 0},
	{.name = "float to bf16", .n = 1027, .to = BF16},
	{.name = "float to fp16", .n = 1027, .to = F16},
	{.name = "bf16 to float", .n = 1027, .type = BF16},
	{.name = "fp16 to float", .n = 1027, .type = F16},
	{.name = "bf16 to fp16", .n = 1027, .type = BF16, .to = F16},
	{.name = "fp16 to bf16", .n = 1027, .type = F16, .to = BF16},
	{.name = "bf16 to itself", .n = 1027, .type = BF16, .to = BF16, .a = 1, .b = 1},
	{.name = "float to itself", .n = 1027, .a = 1, .b = 3},
	{.name = "not aligned", .n = 100003, .to = BF16, .a = 3, .b = 7},
	{.name = "aligned later", .n = 100003, .type = F16, .a = 6, .b = 2},
	{.name = "float to bf16, 64 Mi", .n = 1 << 26, .to = BF16, .large = true},
	{.name = "bf16 to float, 64 Mi", .n = 1 << 26, .type = BF16, .large = true},
};

static void prepare_convert(struct trial *t)
{
	const struct shape *s = t->shape;

	add_values(t, "from", s->type, s->n + s->a, true);
	add_output(t, "to", s->to, s->n + s->b, EXACT);
	t->moved = (double)s->n * (double)(value_bytes(s->type) + value_bytes(s->to));
}

static cudaError_t run_convert(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct convert_args args = {at_value(t, 0, place, s->type, s->a),
					  at_value(t, 1, place, s->to, s->b), s->n, s->type, s->to};

	return RUN(convert, t, place, &args);
}

const struct kernel_test test_convert = {"convert", SHAPES(converts), prepare_convert, run_convert};

static const struct shape relus[] = {
	{.name = "none", .n = 0},
	{.name = "float", .n = 1027},
	{.name = "bf16", .n = 1027, .type = BF16},
	{.name = "fp16", .n = 1027, .type = F16},
	{.name = "bf16, 64 Mi", .n = 1 << 26, .type = BF16, .large = true},
};

static void prepare_relu(struct trial *t)
{
	const struct shape *s = t->shape;

	add_changed(add_values(t, "gradient", s->type, s->n, true), s->type, s->n);
	add_values(t, "output", s->type, s->n, true);
	t->moved = 3.0 * (double)s->n * (double)value_bytes(s->type);
}

static cudaError_t run_relu(struct trial *t, enum place place)
{
	const struct relu_backward_args args = {at(t, 0, place), at(t, 1, place), t->shape->n,
						t->shape->type};

	return RUN(relu_backward, t, place, &args);
}

const struct kernel_test test_relu_backward = {"relu_backward", SHAPES(relus), prepare_relu,
					       run_relu};

/* n: rows, a: columns; with flags the backward pass of ReLU. */
static const struct shape sums[] = {
	{.name = "no rows", .n = 0, .a = 64},
	{.name = "no columns", .n = 10, .a = 0},
	{.name = "one", .n = 1, .a = 1, .flags = 1},
	{.name = "odd columns", .n = 1001, .a = 33, .flags = 1},
	{.name = "odd columns, bf16", .n = 1001, .a = 33, .type = BF16, .flags = 1},
	{.name = "three columns, fp16", .n = 7777, .a = 3, .type = F16},
	{.name = "fc2 of 512", .n = 512, .a = 10, .type = BF16},
	{.name = "fc1 of 512", .n = 512, .a = 512, .type = BF16, .flags = 1},
	{.name = "fc1 of 500, float", .n = 500, .a = 512, .flags = 1},
	{.name = "wide", .n = 100, .a = 4104, .type = F16, .flags = 1},
	{.name = "conv1 of 32", .n = 32 * 1024, .a = 64, .type = BF16, .large = true},
	{.name = "conv1 of 512", .n = 512 * 1024, .a = 64, .type = BF16, .large = true},
	{.name = "conv1 of 512, ReLU",
	 .n = 512 * 1024,
	 .a = 64,
	 .type = BF16,
	 .flags = 1,
	 .large = true},
	{.name = "conv2 of 512", .n = 512 * 256, .a = 128, .type = BF16, .large = true},
	{.name = "conv1 of 256, float", .n = 256 * 1024, .a = 64, .large = true},
};

static void prepare_sums(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t count = s->n * s->a;
	struct buffer *b = add_values(t, "gradient", s->type, count, false);

	if (s->flags)
		add_changed(b, s->type, count);
	add_values(t, "output", s->type, s->flags ? count : 0, true);
	add_output(t, "sums", F32, s->a, SUMMED)->views[0].summed = (double)s->n;
	add_scratch(t, bias_gradient_scratch(s->n, s->a, s->type));
	t->moved = (s->flags ? 3.0 : 1.0) * (double)count * (double)value_bytes(s->type);
}

static cudaError_t run_sums(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct bias_gradient_args args = {
		at(t, 0, place), at(t, 1, place), at(t, 2, place), at(t, 3, place), s->n, s->a,
		s->type};

	return RUN(bias_gradient, t, place, &args);
}

const struct kernel_test test_bias_gradient = {"bias_gradient", SHAPES(sums), prepare_sums,
					       run_sums};

/* n: batch, a: channels, b x c: places, d: channels with padding; flags: to NHWC. */
static const struct shape orders[] = {
	{.name = "none", .n = 0, .a = 3, .b = 2, .c = 2, .d = 8, .flags = 1},
	{.name = "images", .n = 5, .a = 3, .b = 32, .c = 32, .to = BF16, .d = 8, .flags = 1},
	{.name = "images back", .n = 5, .a = 3, .b = 32, .c = 32, .type = BF16, .d = 8},
	{.name = "filters", .n = 64, .a = 3, .b = 3, .c = 3, .to = F16, .d = 8, .flags = 1},
	{.name = "filters back", .n = 64, .a = 3, .b = 3, .c = 3, .type = F16, .d = 8},
	{.name = "features", .n = 50, .a = 33, .b = 1, .c = 1, .to = BF16, .d = 40, .flags = 1},
	{.name = "tiles", .n = 3, .a = 65, .b = 9, .c = 7, .d = 68, .flags = 1},
	{.name = "tiles back", .n = 3, .a = 65, .b = 9, .c = 7, .type = BF16, .to = F16, .d = 72},
	{.name = "halves",
	 .n = 2,
	 .a = 40,
	 .b = 8,
	 .c = 8,
	 .type = F16,
	 .to = BF16,
	 .d = 40,
	 .flags = 1},
	{.name = "fc1's weights",
	 .n = 512,
	 .a = 128,
	 .b = 8,
	 .c = 8,
	 .to = BF16,
	 .d = 128,
	 .flags = 1,
	 .large = true},
	{.name = "an activation",
	 .n = 256,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .to = BF16,
	 .d = 64,
	 .flags = 1,
	 .large = true},
	{.name = "and back",
	 .n = 256,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .type = BF16,
	 .d = 64,
	 .large = true},
};

static void prepare_order(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t places = s->n * s->b * s->c;
	int64_t from = places * (s->flags ? s->a : s->d), to = places * (s->flags ? s->d : s->a);

	add_values(t, "from", s->type, from, true);
	add_output(t, "to", s->to, to, EXACT);
	t->moved = (double)from * (double)value_bytes(s->type) +
		   (double)to * (double)value_bytes(s->to);
}

static cudaError_t run_order(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct reorder_args args = {
		at(t, 0, place), at(t, 1, place), s->type, s->to, s->n, s->a, s->b, s->c, s->d,
		s->flags != 0};

	return RUN(reorder, t, place, &args);
}

const struct kernel_test test_reorder = {"reorder", SHAPES(orders), prepare_order, run_order};

/* n: nanoseconds, a: blocks. What is compared is whether it took so long. */
static const struct shape busies[] = {
	{.name = "no blocks", .n = 1000000, .a = 0},
	{.name = "no time", .n = 0, .a = 16},
	{.name = "2 ms on 16 blocks", .n = 2000000, .a = 16},
};

static void prepare_busy(struct trial *t)
{
	struct buffer *b = add_buffer(t, "so long", sizeof(int32_t));

	add_view(b, (struct view){.count = 1, .integers = true});
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static cudaError_t run_busy(struct trial *t, enum place place)
{
	const struct busy_args args = {t->shape->n, t->shape->a};
	int64_t begin = now();
	cudaError_t code = RUN(busy, t, place, &args);
	int32_t so_long;

	if (place == DEVICE && code == cudaSuccess)
		code = cudaStreamSynchronize(t->stream);
	so_long = !args.blocks || now() - begin >= args.nanoseconds;
	if (place == DEVICE)
		return code != cudaSuccess ? code
					   : cudaMemcpy(at(t, 0, place), &so_long, sizeof(so_long),
							cudaMemcpyHostToDevice);
	memcpy(at(t, 0, place), &so_long, sizeof(so_long));
	return cudaSuccess;
}

const struct kernel_test test_busy = {"busy", SHAPES(busies), prepare_busy, run_busy};
