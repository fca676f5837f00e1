/* SPDX-License-Identifier: MIT */
/* Trials of kernels of a pass: batches, pooling, the loss, and the last layer with it. */
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

enum { RELU = 1, SUMS = 2, NO_PLACES = 4, BAD = 8 };

/* n: batch, a: channels, b x c: of the input, d: kernel. */
static const struct shape pools[] = {
	{.name = "none", .n = 0, .a = 8, .b = 4, .c = 4, .d = 2, .flags = SUMS},
	{.name = "float", .n = 3, .a = 8, .b = 8, .c = 6, .d = 2, .flags = RELU | SUMS | BAD},
	{.name = "bf16",
	 .n = 3,
	 .a = 64,
	 .b = 8,
	 .c = 6,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS},
	{.name = "fp16", .n = 3, .a = 24, .b = 8, .c = 6, .d = 2, .type = F16, .flags = RELU | BAD},
	{.name = "without places",
	 .n = 3,
	 .a = 8,
	 .b = 8,
	 .c = 6,
	 .d = 2,
	 .type = BF16,
	 .flags = NO_PLACES},
	{.name = "odd channels",
	 .n = 5,
	 .a = 33,
	 .b = 9,
	 .c = 7,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS},
	{.name = "a rest at the end", .n = 5, .a = 16, .b = 9, .c = 11, .d = 2, .flags = SUMS},
	{.name = "a rest below",
	 .n = 5,
	 .a = 16,
	 .b = 9,
	 .c = 8,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS | BAD},
	{.name = "a rest at the right",
	 .n = 5,
	 .a = 16,
	 .b = 8,
	 .c = 9,
	 .d = 2,
	 .type = F16,
	 .flags = RELU | SUMS | BAD},
	{.name = "a window each",
	 .n = 67,
	 .a = 8,
	 .b = 2,
	 .c = 2,
	 .d = 2,
	 .type = BF16,
	 .flags = SUMS},
	{.name = "no rest, odd channels",
	 .n = 5,
	 .a = 33,
	 .b = 8,
	 .c = 6,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS | BAD},
	/* Threads with three rows, and with two. */
	{.name = "many channels",
	 .n = 2,
	 .a = 8448,
	 .b = 16,
	 .c = 18,
	 .d = 2,
	 .flags = RELU | SUMS},
	{.name = "thirds",
	 .n = 5,
	 .a = 16,
	 .b = 10,
	 .c = 11,
	 .d = 3,
	 .type = BF16,
	 .flags = RELU | SUMS | BAD},
	{.name = "the greatest window", .n = 2, .a = 8, .b = 17, .c = 31, .d = 16, .type = F16},
	{.name = "wide", .n = 2, .a = 1032, .b = 4, .c = 4, .d = 2, .type = BF16, .flags = SUMS},
	{.name = "pool1 of 32",
	 .n = 32,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool1 of 512",
	 .n = 512,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool2 of 512",
	 .n = 512,
	 .a = 128,
	 .b = 16,
	 .c = 16,
	 .d = 2,
	 .type = BF16,
	 .flags = RELU | SUMS,
	 .large = true},
	{.name = "pool1 of 256, float",
	 .n = 256,
	 .a = 64,
	 .b = 32,
	 .c = 32,
	 .d = 2,
	 .flags = RELU | SUMS,
	 .large = true},
};

static int64_t pooled(const struct shape *s)
{
	return s->n * (s->b / s->d) * (s->c / s->d) * s->a;
}

/* Places are bytes, up to whole words: the bytes behind the last place stay as they were. */
static struct buffer *add_places(struct trial *t)
{
	return add_buffer(t, "places", (size_t)(pooled(t->shape) + 3) / 4 * 4);
}

static void prepare_pool(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t inputs = s->n * s->b * s->c * s->a;
	struct buffer *places;

	add_values(t, "input", s->type, inputs, s->flags & BAD);
	add_output(t, "output", s->type, pooled(s), EXACT);
	places = add_places(t);
	add_view(places, (struct view){.count = (int64_t)places->bytes / 4, .integers = true});
	t->moved = (double)(inputs + pooled(s)) * (double)value_bytes(s->type) +
		   (s->flags & NO_PLACES ? 0 : (double)pooled(s));
}

static cudaError_t run_pool(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct max_pool_args args = {at(t, 0, place),
					   at(t, 1, place),
					   s->flags & NO_PLACES ? NULL : at(t, 2, place),
					   s->n,
					   s->b,
					   s->c,
					   s->a,
					   s->d,
					   s->type};

	return RUN(max_pool, t, place, &args);
}

const struct kernel_test test_max_pool = {"max_pool", SHAPES(pools), prepare_pool, run_pool};

static void prepare_unpool(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t inputs = s->n * s->b * s->c * s->a, outputs = pooled(s);
	struct max_pool_backward_args args = {.batch = s->n,
					      .height = s->b,
					      .width = s->c,
					      .channels = s->a,
					      .kernel = s->d,
					      .type = s->type};
	uint8_t *places;

	add_values(t, "output gradient", s->type, outputs, s->flags & BAD && !(s->flags & SUMS));
	add_values(t, "output", s->type, s->flags & RELU ? outputs : 0, s->flags & BAD);
	places = add_places(t)->at[HOST];
	for (int64_t i = 0; i < outputs; i++)
		places[i] = (uint8_t)(random_u32(&t->random) % (unsigned)(s->d * s->d));
	add_output(t, "input gradient", s->type, inputs, EXACT);
	add_output(t, "sums", F32, s->flags & SUMS ? s->a : 0, SUMMED)->views[0].summed =
		(double)outputs / s->a;
	add_scratch(t, max_pool_backward_scratch(&args));
	t->moved = (double)(inputs + outputs + (s->flags & RELU ? outputs : 0)) *
			   (double)value_bytes(s->type) +
		   (double)outputs;
}

static cudaError_t run_unpool(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct max_pool_backward_args args = {.output_gradient = at(t, 0, place),
						    .output = at(t, 1, place),
						    .places = at(t, 2, place),
						    .input_gradient = at(t, 3, place),
						    .sums = at(t, 4, place),
						    .scratch = at(t, 5, place),
						    .batch = s->n,
						    .height = s->b,
						    .width = s->c,
						    .channels = s->a,
						    .kernel = s->d,
						    .type = s->type};

	return RUN(max_pool_backward, t, place, &args);
}

const struct kernel_test test_max_pool_backward = {"max_pool_backward", SHAPES(pools),
						   prepare_unpool, run_unpool};

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

enum { HAS_RELU = 1, NO_INPUT_GRADIENT = 2, NO_SUMS = 32 };

/* n: batch, a: classes, b: features, c: rows that count, d: values before weights in their memory
 * and floats before gradients. SCALED and BAD as above. */
static const struct shape last_layers[] = {
	{.name = "no batch", .n = 0, .a = 10, .b = 40, .c = 0},
	{.name = "no rows", .n = 5, .a = 10, .b = 40, .c = 0, .type = BF16},
	{.name = "one value", .n = 1, .a = 1, .b = 1, .c = 1},
	{.name = "two classes", .n = 32, .a = 2, .b = 7, .c = 32, .type = BF16, .flags = HAS_RELU},
	{.name = "float", .n = 32, .a = 10, .b = 64, .c = 31, .flags = HAS_RELU},
	{.name = "float, unaligned", .n = 33, .a = 10, .b = 64, .c = 33, .d = 1},
	{.name = "fp16, scaled",
	 .n = 32,
	 .a = 10,
	 .b = 512,
	 .c = 32,
	 .type = F16,
	 .flags = HAS_RELU | SCALED},
	{.name = "a whole tile", .n = 64, .a = 16, .b = 40, .c = 64, .type = BF16},
	{.name = "more rows than a tile",
	 .n = 65,
	 .a = 16,
	 .b = 40,
	 .c = 65,
	 .type = BF16,
	 .flags = HAS_RELU},
	{.name = "17 classes", .n = 32, .a = 17, .b = 33, .c = 32, .type = BF16},
	{.name = "33 classes",
	 .n = 257,
	 .a = 33,
	 .b = 56,
	 .c = 257,
	 .type = F16,
	 .flags = HAS_RELU},
	{.name = "64 classes", .n = 31, .a = 64, .b = 72, .c = 40, .type = BF16, .d = 3},
	{.name = "64 classes, float", .n = 70, .a = 64, .b = 40, .c = 70, .flags = HAS_RELU},
	{.name = "wide",
	 .n = 40,
	 .a = 14,
	 .b = 1000,
	 .c = 40,
	 .type = BF16,
	 .flags = HAS_RELU | OVERWRITES},
	{.name = "two blocks of rows",
	 .n = 257,
	 .a = 10,
	 .b = 96,
	 .c = 250,
	 .flags = HAS_RELU | OVERWRITES},
	{.name = "wider than the blocks", .n = 150, .a = 3, .b = 17000, .c = 150, .type = BF16},
	{.name = "without input gradients",
	 .n = 100,
	 .a = 10,
	 .b = 48,
	 .c = 100,
	 .type = BF16,
	 .flags = NO_INPUT_GRADIENT},
	{.name = "without sums",
	 .n = 20,
	 .a = 10,
	 .b = 48,
	 .c = 20,
	 .type = BF16,
	 .flags = HAS_RELU | NO_SUMS},
	{.name = "not finite", .n = 50, .a = 10, .b = 24, .c = 50, .flags = HAS_RELU | BAD},
	{.name = "not finite, bf16",
	 .n = 130,
	 .a = 5,
	 .b = 16,
	 .c = 130,
	 .type = BF16,
	 .flags = BAD},
	{.name = "fc2 of 32",
	 .n = 32,
	 .a = 10,
	 .b = 512,
	 .c = 32,
	 .type = BF16,
	 .flags = HAS_RELU,
	 .large = true},
	{.name = "fc2 of 512",
	 .n = 512,
	 .a = 10,
	 .b = 512,
	 .c = 512,
	 .type = BF16,
	 .flags = HAS_RELU,
	 .large = true},
	{.name = "fc2 of 4096",
	 .n = 4096,
	 .a = 10,
	 .b = 512,
	 .c = 4096,
	 .type = BF16,
	 .flags = HAS_RELU,
	 .large = true},
};

/* Weights and biases so small that no class takes all of softmax, and with so few bits that logits
 * are exact in any order of sums: they then round alike. */
static void add_small(struct trial *t, const char *name, int64_t count)
{
	const struct shape *s = t->shape;
	void *values = add_values(t, name, s->type, count + s->d, s->flags & BAD)->at[HOST];
	int32_t root = 1;

	while (root * root < s->b)
		root *= 2;
	for (int64_t i = 0; i < count + s->d; i++)
		value_set(s->type, values, i, value_get(s->type, values, i) / (4 * root));
}

/* The `d` floats before the sums stay as they were. */
static void add_sums(struct trial *t, const char *name, int64_t count, double summed)
{
	int32_t before = t->shape->d;
	struct buffer *b = add_buffer(t, name, (size_t)(count + before) * sizeof(float));

	add_view(b, (struct view){.count = before, .integers = true});
	add_view(b, (struct view){.offset = (size_t)before * sizeof(float),
				  .count = count,
				  .closeness = SUMMED,
				  .summed = summed});
}

static void prepare_last_layer(struct trial *t)
{
	const struct shape *s = t->shape;
	int64_t inputs = s->n * s->b, weights = (int64_t)s->a * s->b;
	bool has_gradient = inputs > 0 && !(s->flags & NO_INPUT_GRADIENT);

	add_values(t, "input", s->type, inputs, s->flags & BAD);
	add_small(t, "weight", weights);
	add_small(t, "bias", s->a);
	add_labels(t, s->a);
	add_control(t, s->c);
	add_result(t);
	add_output(t, "gradient", s->type, s->n * s->a, ROUNDED);
	add_sums(t, "weight gradient", weights, (double)s->n);
	add_sums(t, "bias gradient", s->a, (double)s->n);
	add_output(t, "input gradient", s->type, has_gradient ? inputs : 0, SUMMED_ROUNDED)
		->views[0]
		.summed = s->a;
	if (has_gradient && !(s->flags & NO_SUMS))
		add_sums(t, "input sums", s->b, (double)s->n * s->a);
	else
		add_buffer(t, "input sums", 0);
	add_scratch(t, linear_loss_scratch(s->n, s->b, s->a));
	add_scaler(t, 8);
	t->moved = (double)(has_gradient ? 2 * inputs : inputs) * (double)value_bytes(s->type) +
		   (double)weights * (double)(value_bytes(s->type) + sizeof(float));
}

static cudaError_t run_last_layer(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct linear_loss_args args = {
		.input = at(t, 0, place),
		.weight = at_value(t, 1, place, s->type, s->d),
		.bias = at_value(t, 2, place, s->type, s->d),
		.labels = at(t, 3, place),
		.control = at(t, 4, place),
		.result = at(t, 5, place),
		.gradient = at(t, 6, place),
		.weight_gradient = at_value(t, 7, place, F32, s->d),
		.bias_gradient = at_value(t, 8, place, F32, s->d),
		.input_gradient = at(t, 9, place),
		.input_sums = at_value(t, 10, place, F32, t->buffers[10].bytes ? s->d : 0),
		.scratch = at(t, 11, place),
		.scaler = s->flags & SCALED ? at(t, 12, place) : NULL,
		.batch = s->n,
		.features = s->b,
		.classes = s->a,
		.relu = s->flags & HAS_RELU,
		.overwrite = s->flags & OVERWRITES,
		.type = s->type,
	};

	return RUN(linear_loss, t, place, &args);
}

const struct kernel_test test_linear_loss = {"linear_loss", SHAPES(last_layers), prepare_last_layer,
					     run_last_layer};
