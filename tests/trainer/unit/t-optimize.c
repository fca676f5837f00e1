/* SPDX-License-Identifier: MIT */
/* A device's optimizer: optimizer.h's bits in any number of threads. */
#include "kernels/bf16.h"
#include "optimize.h"

/* One step is clipped, and one left out, as after an overflow: the next has a lower scale. */
static struct update_control control_at(int step)
{
	return (struct update_control){
		.lr = 0.01 / (step + 1), .momentum = 0.9, .clip_norm = step == 2 ? 3 : 0};
}

/* optimizer.h over the same buffers, in one part. */
static struct buffers expected(const struct optimizer_settings *settings)
{
	struct buffers b = buffers_new();
	struct optimizer_param params[PARAMETERS];
	struct optimizer *optimizer;

	for (int i = 0; i < PARAMETERS; i++) {
		const struct optimize_parameter *p = &parameters[i];

		params[i] = (struct optimizer_param){
			.weight = b.values + p->offset,
			.elements = p->elements,
			.state = {b.states[0] + p->offset, b.states[1] + p->offset},
			.gradient = p->used ? b.gradients + p->offset : NULL,
		};
	}
	optimizer = optimizer_new(settings, params, PARAMETERS);
	for (int step = 0; step < STEPS; step++) {
		struct update_control at = control_at(step);
		struct optimizer_step how = {{at.lr, at.momentum},
					     scaler_inverse(&b.scaler),
					     step == 2 ? clip_coefficient(10, 3) : 1};

		new_gradients(&b, step);
		if (!scaler_update(&b.scaler, step != 3))
			continue;
		optimizer_begin(optimizer, &how);
		optimizer_part(optimizer, 0, 1);
	}
	optimizer_free(optimizer);
	return b;
}

static void run_steps(const struct backend *backend, struct optimize *optimize, struct buffers *b,
		      int first, int last)
{
	struct train_error error = {.status = TRAIN_OK};

	for (int step = first; step < last; step++) {
		struct update_control control = control_at(step);
		struct gradient_measure measure = {.norm = 10, .found_inf = step == 3};

		new_gradients(b, step);
		ck_assert(backend->optimize_run(optimize, &control, &measure, &error));
	}
}

static void expect_states(struct optimize *optimize, const struct backend *backend, int kind,
			  const struct buffers *want)
{
	const char *name;

	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++) {
		const float *got = backend->optimize_state(optimize, k, &name);

		ROW_EQ_STR(kinds[kind].name, name, kinds[kind].states[k]);
		ck_assert(!got == !name);
		if (got)
			ck_assert_msg(memcmp(got, want->states[k], ELEMENTS * sizeof(*got)) == 0,
				      "%s: %s", kinds[kind].name, name);
	}
	ck_assert_ptr_null(backend->optimize_state(optimize, OPTIMIZER_MAX_STATES, &name));
	ck_assert_ptr_null(name);
}

/* The copy of fc1.weight has its new values, rounded. */
static void expect_copy(int kind, const struct buffers *want)
{
	for (int i = 0; i < FC1_ELEMENTS; i++)
		ROW_EQ_INT(kinds[kind].name, copy[i],
			   bf16_from_float(want->values[parameters[4].offset + i]));
}

START_TEST(steps_as_the_optimizers)
{
	const struct backend *backend = backends[_i / KINDS];
	int kind = _i % KINDS;
	struct buffers want = expected(&kinds[kind].settings);

	for (int threads = 1; threads <= 3; threads++) {
		struct buffers b = buffers_new();
		struct device *device = opened_with(backend, threads);
		struct optimize *optimize = optimize_of(device, &b, &kinds[kind].settings);

		memset(copy, 0, sizeof(copy));
		run_steps(backend, optimize, &b, 0, STEPS);
		expect_copy(kind, &want);
		ck_assert_msg(memcmp(b.values, want.values, ELEMENTS * sizeof(float)) == 0,
			      "%s on %s, %d threads", kinds[kind].name, backend->name, threads);
		expect_states(optimize, backend, kind, &want);
		ck_assert_float_eq(b.scaler.scale, 32768);
		ck_assert_int_eq(b.scaler.good_steps, 1);
		backend->optimize_free(optimize);
		backend->close(device);
		buffers_free(&b);
	}
	buffers_free(&want);
}
END_TEST

/* Steps that nothing is measured for: by optimize_run(), or with these parameters early. */
static struct buffers unmeasured(const struct backend *backend, int kind, int threads,
				 const char *early)
{
	struct train_error error = {.status = TRAIN_OK};
	struct buffers b = buffers_new();
	struct device *device = opened_with(backend, threads);
	struct optimize_parameter of[PARAMETERS];
	const struct optimize_options options = {.settings = kinds[kind].settings,
						 .values = b.values,
						 .gradients = b.gradients,
						 .parameters = of,
						 .count = PARAMETERS};
	struct optimize *optimize;

	for (int i = 0; i < PARAMETERS; i++) {
		of[i] = parameters[i];
		of[i].early = early && early[i] == 'e';
	}
	ck_assert(backend->optimize_new(&optimize, device, &options, &error));
	for (int step = 0; step < STEPS; step++) {
		struct update_control control = {.lr = 0.01 / (step + 1), .momentum = 0.9};

		new_gradients(&b, step);
		if (!early) {
			ck_assert(backend->optimize_run(optimize, &control, NULL, &error));
			continue;
		}
		ck_assert(backend->optimize_begin(optimize, &control, &error) &&
			  backend->optimize_early(optimize, &error) &&
			  backend->optimize_end(optimize, &error));
	}
	backend->optimize_free(optimize);
	backend->close(device);
	return b;
}

START_TEST(early_parameters_change_nothing)
{
	static const char *const early[] = {"nnnnee", "eennnn", "nenene", "eeeeee"};
	const struct backend *backend = backends[_i / KINDS];
	int kind = _i % KINDS;
	struct buffers want = unmeasured(backend, kind, 1, NULL);
	static uint16_t copied[FC1_ELEMENTS];

	memcpy(copied, copy, sizeof(copied));
	for (size_t i = 0; i < sizeof(early) / sizeof(*early); i++) {
		struct buffers got;

		memset(copy, 0, sizeof(copy));
		got = unmeasured(backend, kind, 1 + (int)i % 3, early[i]);
		ck_assert_msg(memcmp(got.values, want.values, ELEMENTS * sizeof(float)) == 0,
			      "%s, %s early", kinds[kind].name, early[i]);
		ck_assert_mem_eq(copy, copied, sizeof(copied));
		buffers_free(&got);
	}
	buffers_free(&want);
}
END_TEST

/* What a checkpoint does: states and the count of steps into a new optimizer. */
START_TEST(state_resumes)
{
	const struct backend *backend = backends[_i / KINDS];
	const struct optimizer_settings *settings = &kinds[_i % KINDS].settings;
	struct buffers want = expected(settings), b = buffers_new();
	struct device *device = opened_with(backend, 1);
	struct optimize *first = optimize_of(device, &b, settings), *second;
	struct train_error error = {.status = TRAIN_OK};
	const char *name;

	run_steps(backend, first, &b, 0, 2);
	second = optimize_of(device, &b, settings);
	for (int k = 0; backend->optimize_state(first, k, &name); k++) {
		float *to = backend->optimize_state(second, k, &name);

		for (int i = 0; i < ELEMENTS; i++)
			ck_assert_float_eq(to[i], 0);
		memcpy(to, backend->optimize_state(first, k, &name), ELEMENTS * sizeof(float));
	}
	ck_assert(backend->optimize_set_steps(second, 2, &error));
	backend->optimize_free(first);
	run_steps(backend, second, &b, 2, STEPS);
	ck_assert_msg(memcmp(b.values, want.values, ELEMENTS * sizeof(float)) == 0, "%s",
		      kinds[_i % KINDS].name);
	backend->optimize_free(second);
	backend->close(device);
	buffers_free(&b);
	buffers_free(&want);
}
END_TEST

START_TEST(state_is_the_devices)
{
	const struct backend *backend = backends[_i / KINDS];
	int kind = _i % KINDS, states = 0;
	struct buffers b = buffers_new();
	struct device *device = opened_with(backend, 1);
	struct optimize *optimize = optimize_of(device, &b, &kinds[kind].settings);

	while (states < OPTIMIZER_MAX_STATES && kinds[kind].states[states])
		states++;
	ROW_EQ_INT(kinds[kind].name, device->bytes, (size_t)states * ELEMENTS * sizeof(float));
	backend->optimize_free(optimize);
	backend->optimize_free(NULL);
	ROW_EQ_INT(kinds[kind].name, device->bytes, 0);
	backend->close(device);
	buffers_free(&b);
}
END_TEST

/* A stage of a model may have no parameters at all. */
START_TEST(no_parameters)
{
	const struct backend *backend = backends[_i];
	const struct optimize_options options = {.settings = kinds[2].settings};
	struct update_control control = control_at(0);
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened_with(backend, 2);
	struct optimize *optimize;
	const char *name;

	ck_assert(backend->optimize_new(&optimize, device, &options, &error));
	ck_assert(measured(optimize, backend).found_inf == 0);
	ck_assert(backend->optimize_run(optimize, &control, NULL, &error));
	ck_assert_ptr_nonnull(backend->optimize_state(optimize, 0, &name));
	backend->optimize_free(optimize);
	backend->close(device);
}
END_TEST

static int left; /* allocations that still succeed */
static const struct backend *whole;

static void *allocate(struct device *device, size_t bytes, const char *what,
		      struct train_error *error)
{
	if (left-- > 0)
		return whole->allocate_zeros(device, bytes, what, error);
	train_nomem(error, what);
	return NULL;
}

/* Memory that ends leaves nothing on the device. */
START_TEST(what_fails_leaves_nothing)
{
	struct buffers b = buffers_new();
	const struct optimize_options options = {.settings = kinds[2].settings,
						 .values = b.values,
						 .gradients = b.gradients,
						 .parameters = parameters,
						 .count = PARAMETERS};
	struct train_error error = {.status = TRAIN_OK};
	struct optimize *optimize = NULL;
	struct backend ending = *backends[_i];
	struct device *device = opened_with(backends[_i], 1);

	whole = backends[_i];
	ending.allocate_zeros = allocate;
	device->backend = &ending;
	for (int max = 0; max < 2; max++) {
		left = max;
		error.status = TRAIN_OK;
		ck_assert(!ending.optimize_new(&optimize, device, &options, &error));
		ck_assert_str_eq(error.text, "out of memory, for the optimizer's state");
		ck_assert_uint_eq(device->bytes, 0);
	}
	ck_assert_ptr_null(optimize);
	whole->close(device);
	buffers_free(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("optimize");
	TCase *tests = tcase_create("optimize");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, steps_as_the_optimizers, 0, BACKENDS * KINDS);
	tcase_add_loop_test(tests, early_parameters_change_nothing, 0, BACKENDS * KINDS);
	tcase_add_loop_test(tests, state_resumes, 0, BACKENDS * KINDS);
	tcase_add_loop_test(tests, state_is_the_devices, 0, BACKENDS * KINDS);
	tcase_add_loop_test(tests, no_parameters, 0, BACKENDS);
	tcase_add_loop_test(tests, what_fails_leaves_nothing, 0, BACKENDS);
	return unit_run(suite);
}
