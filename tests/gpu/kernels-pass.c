/* SPDX-License-Identifier: MIT */
/* Trials of kernels of a pass: batches and the loss. */
#include "kernels-trial.h"

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

enum { AUGMENT = 1, SAMPLES = 100 };

/* n: batch, a: channels, b: sides of a record, c: sides of what comes out, d: with padding, e: rows
 * that count. */
static const struct shape fills[] = {
	{.name = "no batch", .n = 0, .a = 3, .b = 32, .c = 32, .d = 8, .e = 0},
	{.name = "no rows", .n = 8, .a = 3, .b = 32, .c = 32, .d = 8, .e = 0},
	{.name = "bf16", .n = 8, .a = 3, .b = 32, .c = 32, .d = 8, .e = 8, .type = BF16},
	{.name = "augmented",
	 .n = 40,
	 .a = 3,
	 .b = 32,
	 .c = 32,
	 .d = 8,
	 .e = 40,
	 .type = BF16,
	 .flags = AUGMENT},
	{.name = "fp16, the middle",
	 .n = 9,
	 .a = 3,
	 .b = 32,
	 .c = 28,
	 .d = 8,
	 .e = 7,
	 .type = F16,
	 .flags = AUGMENT},
	{.name = "float", .n = 9, .a = 3, .b = 32, .c = 32, .d = 4, .e = 5, .flags = AUGMENT},
	{.name = "without padding",
	 .n = 6,
	 .a = 3,
	 .b = 7,
	 .c = 5,
	 .d = 3,
	 .e = 6,
	 .type = BF16,
	 .flags = AUGMENT},
	{.name = "more rows than room", .n = 6, .a = 2, .b = 9, .c = 9, .d = 4, .e = 99},
	{.name = "vectors", .n = 6, .a = 1024, .b = 1, .c = 1, .d = 1024, .e = 6, .type = BF16},
	{.name = "32 augmented",
	 .n = 32,
	 .a = 3,
	 .b = 32,
	 .c = 32,
	 .d = 8,
	 .e = 32,
	 .type = BF16,
	 .flags = AUGMENT,
	 .large = true},
	{.name = "4096 augmented",
	 .n = 4096,
	 .a = 3,
	 .b = 32,
	 .c = 32,
	 .d = 8,
	 .e = 4096,
	 .type = BF16,
	 .flags = AUGMENT,
	 .large = true},
};

static struct buffer *add_control(struct trial *t, int32_t rows)
{
	struct buffer *b = add_buffer(t, "control", sizeof(struct pass_control));

	*(struct pass_control *)b->at[HOST] =
		(struct pass_control){random_u32(&t->random), rows, 0.125f};
	return b;
}

static void prepare_fill(struct trial *t)
{
	const struct shape *s = t->shape;
	size_t bytes = SAMPLES * (1 + (size_t)s->a * (size_t)s->b * (size_t)s->b);
	uint8_t *records = add_buffer(t, "records", bytes)->at[HOST];
	int64_t values = s->n * s->c * s->c * s->d, *indices;

	for (size_t i = 0; i < bytes; i++)
		records[i] = (uint8_t)random_u32(&t->random);
	add_values(t, "values", F32, INT64_C(256) * s->a, false);
	indices = add_buffer(t, "indices", (size_t)s->n * sizeof(*indices))->at[HOST];
	for (int64_t i = 0; i < s->n; i++)
		indices[i] = random_u32(&t->random) % SAMPLES;
	add_control(t, s->e);
	add_output(t, "images", s->type, values, EXACT);
	add_view(add_buffer(t, "labels", (size_t)s->n * sizeof(int32_t)),
		 (struct view){.count = s->n, .integers = true});
	t->moved =
		(double)values * (double)value_bytes(s->type) + (double)(s->n * s->a) * s->c * s->c;
}

static cudaError_t run_fill(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct input_fill_args args = {.records = at(t, 0, place),
					     .values = at(t, 1, place),
					     .indices = at(t, 2, place),
					     .control = at(t, 3, place),
					     .images = at(t, 4, place),
					     .labels = at(t, 5, place),
					     .batch = s->n,
					     .type = s->type,
					     .channels = s->a,
					     .padded = s->d,
					     .from_height = s->b,
					     .from_width = s->b,
					     .height = s->c,
					     .width = s->c,
					     .augment = s->flags & AUGMENT,
					     .seed = 0x123456789abcdef};

	return RUN(input_fill, t, place, &args);
}

const struct kernel_test test_input_fill = {"input_fill", SHAPES(fills), prepare_fill, run_fill};

enum { BAD = 8 };
enum { NO_GRADIENT = 1, IN_PLACE = 2, SCALED = 4, OVERWRITES = 16 };

/* n: batch, a: classes, b: pitch, c: rows that count. */
static const struct shape losses[] = {
	{.name = "no batch", .n = 0, .a = 10, .b = 10, .c = 0},
	{.name = "no rows", .n = 5, .a = 10, .b = 10, .c = 0},
	{.name = "float", .n = 32, .a = 10, .b = 10, .c = 32},
	{.name = "bf16, padded", .n = 33, .a = 10, .b = 16, .c = 33, .type = BF16},
	{.name = "the first of a step", .n = 700, .a = 10, .b = 10, .c = 700, .flags = OVERWRITES},
	{.name = "fp16, in place",
	 .n = 33,
	 .a = 10,
	 .b = 16,
	 .c = 30,
	 .type = F16,
	 .flags = IN_PLACE | SCALED},
	{.name = "float, in place", .n = 700, .a = 10, .b = 12, .c = 900, .flags = IN_PLACE},
	{.name = "without a gradient",
	 .n = 100,
	 .a = 10,
	 .b = 10,
	 .c = 100,
	 .type = BF16,
	 .flags = NO_GRADIENT},
	{.name = "one class", .n = 300, .a = 1, .b = 1, .c = 300},
	{.name = "two classes", .n = 300, .a = 2, .b = 8, .c = 299, .type = BF16},
	{.name = "32 classes", .n = 100, .a = 32, .b = 32, .c = 100, .flags = IN_PLACE},
	{.name = "100 classes",
	 .n = 100,
	 .a = 100,
	 .b = 104,
	 .c = 100,
	 .type = BF16,
	 .flags = IN_PLACE},
	{.name = "not finite", .n = 50, .a = 10, .b = 10, .c = 50, .flags = BAD},
	{.name = "512 of CIFAR-10",
	 .n = 512,
	 .a = 10,
	 .b = 16,
	 .c = 512,
	 .type = BF16,
	 .flags = IN_PLACE,
	 .large = true},
	{.name = "4096 of CIFAR-10",
	 .n = 4096,
	 .a = 10,
	 .b = 16,
	 .c = 4096,
	 .type = BF16,
	 .flags = IN_PLACE,
	 .large = true},
};

static void add_labels(struct trial *t, int32_t classes)
{
	int64_t count = t->shape->n;
	int32_t *labels = add_buffer(t, "labels", (size_t)count * sizeof(*labels))->at[HOST];

	for (int64_t i = 0; i < count; i++) /* -1 and `classes` are no classes */
		labels[i] = (int32_t)(random_u32(&t->random) % (unsigned)(classes + 2)) - 1;
}

static void add_result(struct trial *t)
{
	struct buffer *b = add_buffer(t, "result", sizeof(struct loss_result));

	*(struct loss_result *)b->at[HOST] = (struct loss_result){10, 3};
	add_view(b, (struct view){.count = 1, .type = VALUE_FLOAT64, .closeness = ROUNDED});
	add_view(b, (struct view){.offset = sizeof(double), .count = 2, .integers = true});
}

static void prepare_loss(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t count = s->n * s->b;
	struct buffer *b = add_values(t, "logits", s->type, count, s->flags & BAD);

	if (s->flags & IN_PLACE)
		add_view(b, (struct view){.count = count, .type = s->type, .closeness = ROUNDED});
	add_labels(t, s->a);
	add_control(t, s->c);
	add_result(t);
	add_output(t, "gradient", s->type, s->flags & (NO_GRADIENT | IN_PLACE) ? 0 : count,
		   ROUNDED);
	add_scratch(t, cross_entropy_scratch(s->n, s->a));
	add_scaler(t, 1024);
	t->moved =
		(s->flags & NO_GRADIENT ? 1.0 : 2.0) * (double)count * (double)value_bytes(s->type);
}

static cudaError_t run_loss(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	struct cross_entropy_args args = {.logits = at(t, 0, place),
					  .labels = at(t, 1, place),
					  .control = at(t, 2, place),
					  .result = at(t, 3, place),
					  .gradient = at(t, 4, place),
					  .scratch = at(t, 5, place),
					  .scaler = s->flags & SCALED ? at(t, 6, place) : NULL,
					  .batch = s->n,
					  .classes = s->a,
					  .pitch = s->b,
					  .type = s->type,
					  .overwrite = (s->flags & OVERWRITES) != 0};

	if (s->flags & IN_PLACE)
		args.gradient = at(t, 0, place);
	return RUN(cross_entropy, t, place, &args);
}

const struct kernel_test test_cross_entropy = {"cross_entropy", SHAPES(losses), prepare_loss,
					       run_loss};
