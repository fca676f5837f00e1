/* SPDX-License-Identifier: MIT */
/* Ranks that normalize a batch together, each with some of its rows, against one with all. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "backends.h"

enum { CHANNELS = 3, SIDE = 2, PLACES = SIDE * SIDE, ROW = CHANNELS * PLACES };
enum { MAX_RANKS = 3, MAX_ROWS = 6, MAX_SUMS = 1 + 2 * CHANNELS };

/* The rows of each rank; the last in a list of fewer have none. */
static const struct {
	const char *name;
	int ranks, rows[MAX_RANKS];
} splits[] = {
	{"equal ranks", 2, {3, 3}},
	{"unequal ranks", 3, {3, 1, 2}},
	{"a rank without rows", 3, {2, 0, 3}},
	{"no rows", 2, {0, 0}},
	{"one row each", 3, {1, 1, 1}},
};
enum { SPLITS = sizeof(splits) / sizeof(*splits) };

struct meeting {
	pthread_barrier_t barrier;
	int ranks;
	double values[MAX_RANKS][MAX_SUMS];
};

struct rank {
	pthread_t thread;
	struct meeting *meeting;
	const struct backend *backend;
	enum value_type type;
	int rank, rows;
	double input[MAX_ROWS * ROW], gradient[MAX_ROWS * ROW];
	double output[MAX_ROWS * ROW], input_gradient[MAX_ROWS * ROW];
	double parameters[6][CHANNELS]; /* weight, bias, their gradients, running statistics */
	struct batch_ranks ranks;
};

static bool gather(void *argument, const void *mine, void *all, size_t bytes,
		   struct train_error *error)
{
	struct rank *r = argument;

	ck_assert_uint_le(bytes, sizeof(r->meeting->values[0]));
	memcpy(r->meeting->values[r->rank], mine, bytes);
	pthread_barrier_wait(&r->meeting->barrier);
	for (int k = 0; k < r->meeting->ranks; k++)
		memcpy((char *)all + (size_t)k * bytes, r->meeting->values[k], bytes);
	pthread_barrier_wait(&r->meeting->barrier);
	return true;
}

static void *put(struct device *device, enum value_type type, const double *values, int64_t count)
{
	struct train_error error = {.status = TRAIN_OK};
	void *to = device->backend->allocate_zeros(device, (size_t)count * sizeof(double), "test",
						   &error);

	ck_assert_msg(to != NULL, "%s", error.text);
	for (int64_t i = 0; i < count; i++)
		value_set(type, to, i, values[i]);
	return to;
}

static void take(struct device *device, enum value_type type, double *values, void *from,
		 int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		values[i] = value_get(type, from, i);
	device->backend->release(device, from);
}

/* A step of one rank. */
static void *step(void *argument)
{
	struct rank *r = argument;
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened_with(r->backend, 1);
	const struct op_shape shape = {
		.input = layout_host(r->type, MAX_ROWS, CHANNELS, SIDE, SIDE),
		.eps = 1e-5,
		.momentum = 0.1,
		.ranks = r->ranks.count,
		.relu = true,
		.relu_backward = true,
	};
	const struct pass_control control = {.rows = r->rows, .scale = 1.0f};
	enum value_type type = value_of_parameters(r->type);
	const int64_t all = MAX_ROWS * ROW;
	struct op *op = NULL;
	struct op_args args = {.control = &control, .training = true};
	void *parameters[6];

	ck_assert_msg(r->backend->batch_norm(&op, device, &shape, &error), "%s", error.text);
	for (int i = 0; i < 6; i++)
		parameters[i] = put(device, type, r->parameters[i], CHANNELS);
	args.input = put(device, r->type, r->input, all);
	args.output = put(device, r->type, r->output, all);
	args.output_gradient = put(device, r->type, r->gradient, all);
	args.input_gradient = put(device, r->type, r->input_gradient, all);
	args.workspace = r->backend->allocate(device, op->info.workspace + 1, "test", &error);
	args.scratch = r->backend->allocate(device, op->info.scratch + 1, "test", &error);
	ck_assert(args.workspace && args.scratch);
	args.weight = parameters[0];
	args.bias = parameters[1];
	args.weight_gradient = parameters[2];
	args.bias_gradient = parameters[3];
	args.running_mean = parameters[4];
	args.running_var = parameters[5];
	args.ranks = r->meeting ? &r->ranks : NULL;
	ck_assert(op->calls->forward(op, &args, &error));
	ck_assert(op->calls->backward_weights(op, &args, &error));
	ck_assert(op->calls->backward_data(op, &args, &error));
	for (int i = 0; i < 6; i++)
		take(device, type, r->parameters[i], parameters[i], CHANNELS);
	take(device, r->type, r->output, args.output, all);
	take(device, r->type, r->input_gradient, args.input_gradient, all);
	take(device, r->type, r->gradient, args.output_gradient, all);
	take(device, r->type, r->input, (void *)(uintptr_t)args.input, all);
	r->backend->release(device, args.workspace);
	r->backend->release(device, args.scratch);
	op_free(op);
	r->backend->close(device);
	return NULL;
}

/* The rank with rows from `first` on of numbers that are the same for all. */
static void begin(struct rank *r, int first, int rows)
{
	static const double parameters[6] = {0.7, -0.2, 0.0, 0.0, 0.4, 1.5};

	r->rows = rows;
	for (int i = 0; i < rows * ROW; i++) {
		int k = first * ROW + i;

		r->input[i] = sin(k * k + 0.5 * k) * 3.0 + k % PLACES;
		r->gradient[i] = cos(k * 1.7) + 0.3;
	}
	for (int i = 0; i < 6; i++)
		for (int c = 0; c < CHANNELS; c++)
			r->parameters[i][c] = parameters[i] + 0.1 * c;
}

static void expect(const char *name, const char *what, int i, double got, double want, double most)
{
	ck_assert_msg(fabs(got - want) <= most * (1.0 + fabs(want)),
		      "%s: %s %d is %.17g, not %.17g", name, what, i, got, want);
}

static void compare(const struct rank *ranks, int split, const struct rank *whole, double most)
{
	const char *name = splits[split].name;
	int at = 0;

	for (int k = 0; k < splits[split].ranks; k++) {
		const struct rank *r = &ranks[k];

		for (int i = 0; i < r->rows * ROW; i++, at++) {
			expect(name, "output", at, r->output[i], whole->output[at], most);
			expect(name, "input gradient", at, r->input_gradient[i],
			       whole->input_gradient[at], most);
		}
		for (int i = 4; i < 6; i++)
			for (int c = 0; c < CHANNELS; c++)
				expect(name, i == 4 ? "running mean" : "running variance", c,
				       r->parameters[i][c], whole->parameters[i][c], most);
	}
	for (int i = 2; i < 4; i++)
		for (int c = 0; c < CHANNELS; c++) {
			double sum = 0.0;

			for (int k = 0; k < splits[split].ranks; k++)
				sum += ranks[k].parameters[i][c];
			expect(name, i == 2 ? "weight gradient" : "bias gradient", c, sum,
			       whole->parameters[i][c], most);
		}
}

START_TEST(ranks_normalize_a_batch_as_one)
{
	static const enum value_type types[] = {VALUE_FLOAT64, VALUE_FLOAT32};
	const struct backend *backend = backends[_i / SPLITS % BACKENDS];
	enum value_type type = types[_i / SPLITS / BACKENDS];
	static struct rank ranks[MAX_RANKS], whole;
	static struct meeting meeting;
	int split = _i % SPLITS, first = 0;

	if (backend != &backend_reference && type == VALUE_FLOAT64)
		return;
	meeting.ranks = splits[split].ranks;
	pthread_barrier_init(&meeting.barrier, NULL, (unsigned)meeting.ranks);
	for (int k = 0; k < meeting.ranks; k++) {
		struct rank *r = &ranks[k];

		*r = (struct rank){
			.meeting = &meeting, .backend = backend, .type = type, .rank = k};
		r->ranks = (struct batch_ranks){meeting.ranks, gather, r};
		begin(r, first, splits[split].rows[k]);
		first += splits[split].rows[k];
		ck_assert_int_eq(pthread_create(&r->thread, NULL, step, r), 0);
	}
	for (int k = 0; k < meeting.ranks; k++)
		pthread_join(ranks[k].thread, NULL);
	whole = (struct rank){.backend = backend, .type = type};
	begin(&whole, 0, first);
	step(&whole);
	compare(ranks, split, &whole, type == VALUE_FLOAT64 ? 1e-12 : 1e-5);
	pthread_barrier_destroy(&meeting.barrier);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch normalization of several ranks");
	TCase *tests = tcase_create("ranks");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, ranks_normalize_a_batch_as_one, 0, 2 * BACKENDS * SPLITS);
	return unit_run(suite);
}
