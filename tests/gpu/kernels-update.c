/* SPDX-License-Identifier: MIT */
/* Trials of the optimizer's kernels, over the parameters of a model. */
#include "kernels-trial.h"

#include <math.h>

#define F32 VALUE_FLOAT32
#define BF16 VALUE_BFLOAT16
#define F16 VALUE_FLOAT16

/* Parameters: odd ones, with any offset, gaps and a dead one; convnet's, without gaps; and those of
 * convolutions. */
static const struct parameter {
	int64_t offset, elements;
	bool used;
	enum value_type copy; /* float: none, except in rows */
} odd[] = {{3, 1728, true, BF16},     {1731, 64, true, F32},   {1795, 5000, false, BF16},
	   {6810, 140001, true, F16}, {146811, 1, true, BF16}, {146813, 9000, true, F32}},
  convnet[] = {{0, 1728, true, F32},        {1728, 64, true, F32},        {1792, 73728, true, BF16},
	       {75520, 128, true, F32},     {75648, 4194304, true, BF16}, {4269952, 512, true, F32},
	       {4270464, 5120, true, BF16}, {4275584, 10, true, F32}},
  filters[] = {{0, 1728, true, BF16},    {1728, 64, true, F32},     {1792, 73728, true, BF16},
	       {75521, 4999, true, F16}, {80523, 9000, true, F16},  {89523, 900, true, F32},
	       {90423, 901, true, BF16}, {91328, 3000, true, BF16}, {94328, 40, true, F32}};

/* The rows of copies, and of gradients of the same type beside the flat buffer; 0: none. */
static const struct pitches {
	int32_t row, copy, gradient;
} padded[] = {{3, 8, 8}, {0, 0, 0},   {64, 64, 64}, {5, 8, 8}, {3000, 3000, 3000},
	      {3, 4, 4}, {53, 56, 0}, {3, 3, 8},    {0, 0, 0}};

static const struct model {
	const struct parameter *parameters;
	const struct pitches *pitches; /* of each; NULL: copies are dense, and gradients flat */
	int count;
	int64_t elements;
	int64_t beside; /* bytes for each in the buffers of copies and of gradients beside */
} models[] = {{odd, NULL, 6, 155813, 2},
	      {convnet, NULL, 8, 4275594, 2},
	      {NULL, NULL, 0, 0, 2},
	      {filters, padded, 9, 94368, 8}};

enum { ODD, CONVNET, EMPTY, FILTERS };

static int64_t cut(struct chunk *chunks, const struct model *m, int index, char *copies,
		   char *gradients)
{
	const struct parameter *of = &m->parameters[index];
	const struct pitches p = m->pitches ? m->pitches[index] : (struct pitches){0, 0, 0};
	bool copied = copies && (p.copy || of->copy != F32);
	const struct value_rows copy = {copied ? copies + m->beside * of->offset : NULL, of->copy,
					p.row, p.copy};
	const struct value_rows gradient = {
		gradients && p.gradient ? gradients + m->beside * of->offset : NULL, of->copy,
		p.row, p.gradient};

	return of->used ? chunk_cut(chunks, of->offset, of->elements, &copy, &gradient) : 0;
}

static int32_t cut_all(struct chunk *chunks, const struct model *m, char *copies, char *gradients)
{
	int32_t n = 0;

	for (int p = 0; p < m->count; p++)
		n += (int32_t)cut(chunks + n, m, p, copies, gradients);
	return n;
}

static struct chunk *add_chunks(struct trial *t, const char *name, const struct model *m)
{
	int64_t max = m->elements / CHUNK_APART + 2 * m->count;

	return add_buffer(t, name, (size_t)max * sizeof(struct chunk))->at[HOST];
}

static int32_t *add_starts(struct trial *t, const struct model *m, char *copies, char *gradients)
{
	struct buffer *b = add_buffer(t, "starts", (size_t)(m->count + 1) * sizeof(int32_t));
	int32_t *starts = b->at[HOST];

	starts[0] = 0;
	for (int p = 0; p < m->count; p++)
		starts[p + 1] = starts[p] + (int32_t)cut(NULL, m, p, copies, gradients);
	return starts;
}

static struct update_control *add_control(struct trial *t, const struct update_control *control)
{
	struct update_control *at = add_buffer(t, "control", sizeof(*control))->at[HOST];

	*at = *control;
	return at;
}

enum { INFINITE = 1, NAN_IN_DEAD = 2, OVERFLOWS = 4, UNSCALED = 8 };

/* n: the model; b: parameters of stages before it. */
static const struct shape measures[] = {
	{.name = "no parameters", .n = EMPTY},
	{.name = "odd", .n = ODD},
	{.name = "an infinity", .n = ODD, .flags = INFINITE},
	{.name = "NaN in a dead layer", .n = ODD, .flags = NAN_IN_DEAD},
	{.name = "great squares", .n = ODD, .flags = OVERFLOWS},
	{.name = "without a scaler", .n = ODD, .flags = UNSCALED},
	{.name = "a stage", .n = ODD, .b = 11},
	{.name = "the last there can be", .n = ODD, .b = GRADIENT_MAX_PARAMETERS - 6},
	{.name = "a stage without parameters", .n = EMPTY, .b = 3},
	{.name = "convnet", .n = CONVNET, .large = true},
};

static void prepare_measure(struct trial *t)
{
	const struct model *m = &models[t->shape->n];
	float *g = add_values(t, "gradients", F32, m->elements, false)->at[HOST];
	int32_t count;
	struct buffer *b;

	if (t->shape->flags & INFINITE)
		g[6811] = -INFINITY;
	if (t->shape->flags & NAN_IN_DEAD)
		g[2000] = NAN;
	if (t->shape->flags & OVERFLOWS)
		g[6810] = g[6811] = 1e38f;
	count = cut_all(add_chunks(t, "chunks", m), m, NULL, NULL);
	add_starts(t, m, NULL, NULL);
	add_scaler(t, 8);
	b = add_buffer(t, "measure", sizeof(struct gradient_measure));
	add_view(b, (struct view){.count = 1, .closeness = ROUNDED});
	add_view(b, (struct view){.offset = offsetof(struct gradient_measure, found_inf),
				  .count = GRADIENT_SUMS,
				  .closeness = ROUNDED});
	add_scratch(t, gradient_measure_scratch(count));
	t->moved = 4.0 * (double)m->elements;
}

static cudaError_t run_measure(struct trial *t, enum place place)
{
	const struct model *m = &models[t->shape->n];
	const int32_t *starts = at(t, 2, HOST);
	const void *scaler = t->shape->flags & UNSCALED ? NULL : at(t, 3, place);
	const struct gradient_measure_args args = {
		at(t, 0, place), at(t, 1, place),  at(t, 2, place), scaler,     at(t, 4, place),
		at(t, 5, place), starts[m->count], m->count,        t->shape->b};

	return RUN(gradient_measure, t, place, &args);
}

const struct kernel_test test_gradient_measure = {"gradient_measure", SHAPES(measures),
						  prepare_measure, run_measure};

enum { ONE_INFINITE = 1, ONE_NAN = 2 };

static const struct shape norms[] = {
	{.name = "numbers"},
	{.name = "an infinity", .flags = ONE_INFINITE},
	{.name = "a NaN", .flags = ONE_NAN},
};

static void prepare_norm(struct trial *t)
{
	struct buffer *b = add_buffer(t, "measure", sizeof(struct gradient_measure));
	struct gradient_measure *measure = b->at[HOST];

	for (int p = 0; p < GRADIENT_MAX_PARAMETERS; p++)
		measure->norms[p] = (float)(p * 37 % 23) / 8;
	if (t->shape->flags & ONE_INFINITE)
		measure->norms[GRADIENT_MAX_PARAMETERS - 1] = INFINITY;
	if (t->shape->flags & ONE_NAN)
		measure->norms[0] = NAN;
	add_view(b, (struct view){.count = 1, .closeness = ROUNDED});
	add_view(b, (struct view){.offset = offsetof(struct gradient_measure, found_inf),
				  .count = GRADIENT_SUMS});
}

static cudaError_t run_norm(struct trial *t, enum place place)
{
	const struct gradient_norm_args args = {at(t, 0, place)};

	return RUN(gradient_norm, t, place, &args);
}

const struct kernel_test test_gradient_norm = {"gradient_norm", SHAPES(norms), prepare_norm,
					       run_norm};

enum {
	CLIPS = 1,
	SCALES = 2,
	NOT_FINITE = 4,
	UNMEASURED = 8,
	NO_NUMBER = 16,
	GROWS = 32,
	GREATEST = 64
};
enum { BY_SGD, BY_ADAM, BY_ADAMW }; /* a */

/* n: steps made. */
static const struct shape begins[] = {
	{.name = "SGD", .a = BY_SGD, .n = 0},
	{.name = "Adam, first", .a = BY_ADAM, .n = 0},
	{.name = "Adam, late", .a = BY_ADAM, .n = 123456},
	{.name = "AdamW, clipped", .a = BY_ADAMW, .n = 7, .flags = CLIPS},
	{.name = "skipped", .a = BY_ADAMW, .n = 7, .flags = SCALES | NOT_FINITE},
	{.name = "not to be skipped", .a = BY_ADAM, .n = 7, .flags = NOT_FINITE},
	{.name = "finite", .a = BY_ADAM, .n = 7, .flags = SCALES},
	{.name = "scaled and clipped", .a = BY_ADAM, .n = 7, .flags = SCALES | CLIPS},
	{.name = "the scale grows", .a = BY_ADAM, .n = 7, .flags = SCALES | GROWS},
	{.name = "the scale is the greatest", .a = BY_ADAM, .flags = SCALES | GREATEST},
	{.name = "skipped and clipped", .a = BY_SGD, .flags = SCALES | CLIPS | NOT_FINITE},
	{.name = "not measured", .a = BY_ADAM, .n = 7, .flags = CLIPS | UNMEASURED},
	{.name = "clipped by no number", .a = BY_SGD, .flags = CLIPS | NO_NUMBER},
};

static void prepare_begin(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct update_control control = {0.003, 0.9, s->flags & CLIPS ? 0.7 : 0};
	struct gradient_measure *measure;
	struct scaler *scaler;
	struct buffer *b;

	add_control(t, &control);
	measure = add_buffer(t, "measure", sizeof(*measure))->at[HOST];
	measure->norm = s->flags & NO_NUMBER ? NAN : 3.3f;
	measure->found_inf = s->flags & NOT_FINITE ? 1 : 0;
	b = add_buffer(t, "steps", sizeof(int64_t));
	*(int64_t *)b->at[HOST] = s->n;
	add_view(b, (struct view){.count = 2, .integers = true});
	b = add_buffer(t, "factors", sizeof(struct update_factors));
	add_view(b, (struct view){.count = offsetof(struct update_factors, skip) / sizeof(float),
				  .closeness = ROUNDED});
	add_view(b, (struct view){.offset = offsetof(struct update_factors, skip),
				  .count = 1,
				  .integers = true});
	b = add_scaler(t, s->flags & GREATEST ? 0x1p127f : 65536);
	scaler = b->at[HOST];
	scaler->good_steps = s->flags & (GROWS | GREATEST) ? scaler->growth_interval - 1 : 5;
	add_view(b, (struct view){.count = sizeof(*scaler) / 4, .integers = true});
}

static cudaError_t run_begin(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct update_begin_args args = {
		{0.999, 1e-8, 0.01, s->a != BY_SGD, s->a == BY_ADAMW},
		at(t, 0, place),
		s->flags & UNMEASURED ? NULL : at(t, 1, place),
		at(t, 2, place),
		at(t, 3, place),
		s->flags & SCALES ? at(t, 4, place) : NULL};

	return RUN(update_begin, t, place, &args);
}

const struct kernel_test test_update_begin = {"update_begin", SHAPES(begins), prepare_begin,
					      run_begin};

enum { NO_COPIES = 2, NESTEROV = 4, DECAYS = 8, MEASURED_OUT = 16, BESIDE = 32 };
enum { PLAIN, MOMENTUM, ADAM };

/* n: the model; a: how many states; flags as above, and MEASURED_OUT: skipped. */
static const struct shape updates[] = {
	{.name = "no parameters", .n = EMPTY, .a = ADAM},
	{.name = "SGD", .n = ODD, .a = PLAIN},
	{.name = "SGD with decay", .n = ODD, .a = PLAIN, .flags = DECAYS},
	{.name = "momentum", .n = ODD, .a = MOMENTUM, .flags = DECAYS},
	{.name = "Nesterov", .n = ODD, .a = MOMENTUM, .flags = NESTEROV},
	{.name = "Adam", .n = ODD, .a = ADAM, .flags = DECAYS},
	{.name = "AdamW", .n = ODD, .a = ADAM},
	{.name = "without copies", .n = ODD, .a = ADAM, .flags = NO_COPIES},
	{.name = "skipped", .n = ODD, .a = ADAM, .flags = MEASURED_OUT},
	{.name = "beside other kernels", .n = ODD, .a = ADAM, .flags = BESIDE},
	{.name = "filters, SGD", .n = FILTERS, .a = PLAIN},
	{.name = "filters, momentum", .n = FILTERS, .a = MOMENTUM},
	{.name = "filters, Nesterov", .n = FILTERS, .a = MOMENTUM, .flags = NESTEROV},
	{.name = "filters, Adam", .n = FILTERS, .a = ADAM, .flags = DECAYS},
	{.name = "filters without copies", .n = FILTERS, .a = ADAM, .flags = NO_COPIES},
	{.name = "convnet, SGD", .n = CONVNET, .a = PLAIN, .large = true},
	{.name = "convnet, momentum", .n = CONVNET, .a = MOMENTUM, .large = true},
	{.name = "convnet, Adam", .n = CONVNET, .a = ADAM, .large = true},
	{.name = "convnet, Adam beside other kernels",
	 .n = CONVNET,
	 .a = ADAM,
	 .flags = BESIDE,
	 .large = true},
	{.name = "convnet, Adam without copies",
	 .n = CONVNET,
	 .a = ADAM,
	 .flags = NO_COPIES,
	 .large = true},
};

static void add_state(struct trial *t, const char *name, int64_t count, bool positive)
{
	struct buffer *b = add_values(t, name, F32, count, false);
	float *values = b->at[HOST];

	for (int64_t i = 0; positive && i < count; i++)
		values[i] = fabsf(values[i]);
	add_view(b, (struct view){.count = count});
}

static void add_factors(struct trial *t)
{
	unsigned flags = t->shape->flags;
	struct update_factors *f = add_buffer(t, "factors", sizeof(*f))->at[HOST];

	*f = (struct update_factors){.inv_scale = 0.37f,
				     .clip = 0.71f,
				     .decay = flags & DECAYS ? 5e-4f : 0,
				     .keep = flags & DECAYS ? 1 : 0.9999f,
				     .minus_lr = -0.01f,
				     .momentum = 0.9f,
				     .gain = 0.1f,
				     .beta2 = 0.999f,
				     .gain2 = 0.001f,
				     .minus_step = -0.003f,
				     .root = 0.3f,
				     .eps = 1e-8f,
				     .skip = (flags & MEASURED_OUT) != 0};
}

/* Chunks have addresses, so those of the device are cut when it has its buffers. */
static void place_update(struct trial *t)
{
	const struct shape *s = t->shape;

	cut_all(t->buffers[7].before, &models[s->n],
		s->flags & NO_COPIES ? NULL : t->buffers[4].at[DEVICE], t->buffers[5].at[DEVICE]);
}

static void prepare_update(struct trial *t)
{
	const struct shape *s = t->shape;
	const struct model *m = &models[s->n];
	struct buffer *copies, *beside;
	bool copied = !(s->flags & NO_COPIES);
	int64_t count = m->elements * m->beside / 2;

	add_state(t, "values", m->elements, false);
	add_values(t, "gradients", F32, m->elements, false);
	add_state(t, "mean", s->a >= MOMENTUM ? m->elements : 0, false);
	add_state(t, "variance", s->a >= ADAM ? m->elements : 0, true);
	copies = add_output(t, "copies", BF16, count, EXACT);
	/* Each type finds finite numbers in values of bfloat16. */
	beside = add_values(t, "gradients beside", BF16, s->n == FILTERS ? count : 0, false);
	cut_all(add_chunks(t, "chunks of the host", m), m, copied ? copies->at[HOST] : NULL,
		beside->at[HOST]);
	add_chunks(t, "chunks of the device", m);
	t->place = place_update;
	add_factors(t);
	add_starts(t, m, copied ? copies->at[HOST] : NULL, beside->at[HOST]);
	t->moved = (double)m->elements * (12 + 8 * s->a + (copied ? 2 : 0));
}

static cudaError_t run_update(struct trial *t, enum place place)
{
	const struct shape *s = t->shape;
	const struct model *m = &models[s->n];
	const int32_t *starts = at(t, 9, HOST);
	const struct update_args args = {.values = at(t, 0, place),
					 .gradients = at(t, 1, place),
					 .mean = at(t, 2, place),
					 .variance = at(t, 3, place),
					 .chunks = at(t, place == HOST ? 6 : 7, place),
					 .factors = at(t, 8, place),
					 .chunk_count = starts[m->count],
					 .nesterov = (s->flags & NESTEROV) != 0,
					 .beside = (s->flags & BESIDE) != 0};

	return RUN(update, t, place, &args);
}

const struct kernel_test test_update = {"update", SHAPES(updates), prepare_update, run_update};
