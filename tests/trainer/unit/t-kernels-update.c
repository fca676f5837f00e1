/* SPDX-License-Identifier: MIT */
/* The references of the optimizer's kernels: optimizer.h's bits, clip.h's norms, and what is
 * skipped or dead is left alone. */
#include "kernels.h"
#include "optim/clip.h"
#include "optim/optimizer.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* Gaps between them, as of layers that are not live; offsets of any alignment. */
static const struct {
	const char *name;
	int64_t offset, elements;
	bool used;
	enum value_type copy; /* VALUE_FLOAT32: none */
} parameters[] = {
	{"conv1.weight", 3, 1728, true, VALUE_BFLOAT16},
	{"conv1.bias", 1731, 64, true, VALUE_FLOAT32},
	{"dead.weight", 1795, 5000, false, VALUE_BFLOAT16},
	{"fc1.weight", 6810, 14001, true, VALUE_FLOAT16},
	{"fc1.bias", 20811, 1, true, VALUE_FLOAT32},
};
enum { PARAMETERS = ROWS(parameters), ELEMENTS = 20812, MAX_CHUNKS = 16, STEPS = 5 };

struct state {
	float values[ELEMENTS], gradients[ELEMENTS], mean[ELEMENTS], variance[ELEMENTS];
	uint16_t copy[ELEMENTS]; /* of any type of two bytes */
	struct scaler scaler;
};

struct table {
	struct chunk chunks[MAX_CHUNKS];
	int32_t starts[PARAMETERS + 1], count;
};

static struct table table_of(struct state *s)
{
	struct table t = {.count = 0};

	for (int p = 0; p < PARAMETERS; p++) {
		bool copied = parameters[p].copy != VALUE_FLOAT32;
		const struct value_rows none = {.memory = NULL};
		const struct value_rows copy = {.memory = copied ? s->copy + parameters[p].offset
								 : NULL,
						.type = parameters[p].copy};

		t.starts[p] = t.count;
		if (parameters[p].used)
			t.count += (int32_t)chunk_cut(t.chunks + t.count, parameters[p].offset,
						      parameters[p].elements, &copy, &none);
	}
	t.starts[PARAMETERS] = t.count;
	ck_assert_int_le(t.count, MAX_CHUNKS);
	return t;
}

static struct state *state_new(void)
{
	struct state *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	for (int i = 0; i < ELEMENTS; i++)
		s->values[i] = (float)(i * 37 % 23 - 11) / 8;
	s->scaler = scaler_default();
	memset(s->copy, POISON, sizeof(s->copy));
	return s;
}

static void new_gradients(struct state *s, int step)
{
	for (int i = 0; i < ELEMENTS; i++)
		s->gradients[i] = (float)((i * 53 + step * 19) % 29 - 14) * 4096;
	if (step == 3) /* an overflow in a parameter that is used, and one in what is not */
		s->gradients[6811] = INFINITY;
	s->gradients[2000] = NAN;
}

static const struct {
	const char *name;
	struct optimizer_settings settings;
	bool measures; /* clips, and has a scaler */
} kinds[] = {
	{"SGD", {OPTIMIZER_SGD, 0, 0, 0, 5e-4, false}, true},
	{"momentum", {OPTIMIZER_SGD, 0.9, 0, 0, 0, false}, true},
	{"Nesterov", {OPTIMIZER_SGD, 0.9, 0, 0, 1e-4, true}, true},
	{"Adam", {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, 0.1, false}, true},
	{"AdamW", {OPTIMIZER_ADAMW, 0.9, 0.999, 1e-8, 0.1, false}, true},
	{"Adam, not measured", {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, 0, false}, false},
};

static struct update_control control_at(int step)
{
	return (struct update_control){
		.lr = 0.01 / (step + 1), .momentum = 0.9, .clip_norm = step == 2 ? 0.3 : 0};
}

/* A step by the references; in `measure` what was measured. */
static void step_by_kernels(struct state *s, const struct table *t, int kind, int step,
			    int64_t *steps)
{
	const struct optimizer_settings *settings = &kinds[kind].settings;
	const struct update_control control = control_at(step);
	const bool measures = kinds[kind].measures;
	struct scaler *scaler = measures ? &s->scaler : NULL;
	struct gradient_measure measure;
	struct update_factors factors;
	const struct gradient_measure_args measure_args = {s->gradients, t->chunks,  t->starts,
							   scaler,       &measure,   NULL,
							   t->count,     PARAMETERS, 0};
	const struct update_begin_args begin_args = {optimizer_update_settings(settings),
						     &control,
						     measures ? &measure : NULL,
						     steps,
						     &factors,
						     scaler};
	const bool adam = settings->kind != OPTIMIZER_SGD;
	const struct update_args args = {.values = s->values,
					 .gradients = s->gradients,
					 .mean = adam || settings->momentum > 0 ? s->mean : NULL,
					 .variance = adam ? s->variance : NULL,
					 .chunks = t->chunks,
					 .factors = &factors,
					 .chunk_count = t->count,
					 .nesterov = settings->nesterov};

	memset(&factors, POISON, sizeof(factors));
	memset(&measure, POISON, sizeof(measure));
	reference_gradient_measure(&measure_args);
	reference_update_begin(&begin_args);
	reference_update(&args);
}

/* A step by optimizer.h; clipped by the norm that the kernels have found, which is its own. */
static void step_by_optimizer(struct state *s, struct optimizer *optimizer, int kind, int step)
{
	const struct update_control control = control_at(step);
	float inverse = kinds[kind].measures ? scaler_inverse(&s->scaler) : 1;
	struct optimizer_step how = {{control.lr, control.momentum}, inverse, 1};
	double sum = 0;

	if (kinds[kind].measures && !scaler_update(&s->scaler, step != 3))
		return;
	for (int p = 0; p < PARAMETERS; p++) {
		double of_parameter = 0;

		for (int64_t i = 0; parameters[p].used && i < parameters[p].elements; i++) {
			float g = s->gradients[parameters[p].offset + i] * inverse;

			of_parameter += (double)g * (double)g;
		}
		sum += pow((double)(float)sqrt(of_parameter), 2);
	}
	if (kinds[kind].measures && control.clip_norm > 0)
		how.clip = clip_coefficient((float)sqrt(sum), control.clip_norm);
	optimizer_begin(optimizer, &how);
	optimizer_part(optimizer, 0, 1);
}

static struct optimizer *optimizer_of(struct state *s, int kind)
{
	struct optimizer_param params[PARAMETERS];

	for (int p = 0; p < PARAMETERS; p++) {
		int64_t at = parameters[p].offset;

		params[p] = (struct optimizer_param){
			.weight = s->values + at,
			.elements = parameters[p].elements,
			.state = {s->mean + at, s->variance + at},
			.gradient = parameters[p].used ? s->gradients + at : NULL};
	}
	return optimizer_new(&kinds[kind].settings, params, PARAMETERS);
}

static void expect_copies(const struct state *s, const char *name)
{
	for (int p = 0; p < PARAMETERS; p++) {
		int64_t at = parameters[p].offset;
		bool copied = parameters[p].used && parameters[p].copy != VALUE_FLOAT32;

		for (int64_t i = 0; i < parameters[p].elements; i++) {
			uint16_t want = POISON << 8 | POISON;

			if (copied)
				value_set(parameters[p].copy, &want, 0, (double)s->values[at + i]);
			if (s->copy[at + i] != want)
				ck_abort_msg("%s: copy of %s, %lld", name, parameters[p].name,
					     (long long)i);
		}
	}
}

START_TEST(updates_as_the_optimizer)
{
	const char *name = kinds[_i].name;
	struct state *got = state_new(), *want = state_new();
	struct table table = table_of(got);
	struct optimizer *optimizer = optimizer_of(want, _i);
	int64_t steps = 0;

	for (int step = 0; step < STEPS; step++) {
		new_gradients(got, step);
		new_gradients(want, step);
		step_by_kernels(got, &table, _i, step, &steps);
		step_by_optimizer(want, optimizer, _i, step);
		ck_assert_msg(memcmp(got->values, want->values, sizeof(got->values)) == 0,
			      "%s: values of step %d", name, step);
		ck_assert_msg(memcmp(got->mean, want->mean, sizeof(got->mean)) == 0,
			      "%s: means of step %d", name, step);
		ck_assert_msg(memcmp(got->variance, want->variance, sizeof(got->mean)) == 0,
			      "%s: variances of step %d", name, step);
		expect_copies(got, name);
		ck_assert_msg(got->scaler.scale == want->scaler.scale &&
				      got->scaler.good_steps == want->scaler.good_steps,
			      "%s: scale of step %d", name, step);
	}
	ROW_EQ_INT(name, steps, kinds[_i].measures ? STEPS - 1 : STEPS);
	optimizer_free(optimizer);
	free(got);
	free(want);
}
END_TEST

START_TEST(norms_as_clip)
{
	const struct scaler scaler = {.scale = 8};
	struct state *s = state_new();
	struct table t = table_of(s);
	struct gradient_measure measure;
	const struct gradient_measure_args args = {
		s->gradients, t.chunks, t.starts, &scaler, &measure, NULL, t.count, PARAMETERS, 0};
	float norm;

	memset(&measure, POISON, sizeof(measure));
	new_gradients(s, 0);
	reference_gradient_measure(&args);
	for (int p = 0; p < GRADIENT_MAX_PARAMETERS; p++) {
		bool used = p < PARAMETERS && parameters[p].used;
		float want = used ? clip_norm(s->gradients + parameters[p].offset,
					      parameters[p].elements, 0.125f)
				  : 0;

		ck_assert_msg(fabsf(measure.norms[p] - want) <= want * 1e-6f, "norm %d: %g, not %g",
			      p, (double)measure.norms[p], (double)want);
	}
	norm = clip_norm(measure.norms, PARAMETERS, 1);
	ck_assert(fabsf(measure.norm - norm) <= norm * 1e-6f);
	ck_assert(measure.found_inf == 0);
	free(s);
}
END_TEST

/* One gradient, and whether the measure is finite then. */
static const struct {
	const char *name;
	int64_t at;
	float value, scale;
	int finite;
} infinities[] = {
	{"plain", 6810, 1, 1, 1},
	{"an overflow", 6810, INFINITY, 2, 0},
	{"a NaN at the first", 3, NAN, 1, 0},
	{"the last of a parameter", 6810 + 14000, -INFINITY, 1, 0},
	{"the last of all", ELEMENTS - 1, NAN, 1, 0},
	{"of a dead layer", 2000, NAN, 1, 1},
	{"between parameters", 6806, INFINITY, 1, 1},
	{"a square that overflows", 6810, 1e38f, 1, 1},
	{"beyond floats when unscaled", 6810, 1e38f, 0.0625f, 0},
	{"without a scale that is left", 6810, 0, 0, 0},
};

START_TEST(finds_what_is_not_finite)
{
	const struct scaler scaler = {.scale = infinities[_i].scale};
	struct state *s = state_new();
	struct table t = table_of(s);
	struct gradient_measure measure;
	const struct gradient_measure_args args = {
		s->gradients, t.chunks, t.starts, &scaler, &measure, NULL, t.count, PARAMETERS, 0};

	s->gradients[infinities[_i].at] = infinities[_i].value;
	reference_gradient_measure(&args);
	ROW_EQ_INT(infinities[_i].name, measure.found_inf == 0, infinities[_i].finite);
	ROW_EQ_INT(infinities[_i].name, isfinite(measure.norm) != 0, infinities[_i].finite);
	free(s);
}
END_TEST

/* A stage of a model may have no parameters at all: a step is made all the same. */
START_TEST(no_parameters)
{
	const struct update_control control = {.lr = 1, .clip_norm = 1};
	struct scaler scaler = scaler_default();
	const int32_t start = 0;
	struct gradient_measure measure;
	struct update_factors factors;
	int64_t steps = 41;
	const struct gradient_measure_args measure_args = {
		.starts = &start, .scaler = &scaler, .measure = &measure};
	const struct update_begin_args begin_args = {optimizer_update_settings(&kinds[3].settings),
						     &control,
						     &measure,
						     &steps,
						     &factors,
						     &scaler};
	const struct update_args args = {.factors = &factors};

	reference_gradient_measure(&measure_args);
	ck_assert(measure.norm == 0 && measure.found_inf == 0);
	reference_update_begin(&begin_args);
	reference_update(&args);
	ck_assert_int_eq(steps, 42);
	ck_assert(factors.clip == 1 && factors.skip == 0);
}
END_TEST

/* What is asked of a step whose gradients are finite, or not. */
static const struct {
	const char *name;
	double clip_norm;
	float scale; /* 0: there is no scaler */
	struct gradient_measure measure;
	bool measured;
	int skip;
	float clip, next; /* scale */
} begins[] = {
	{"nothing measured", 1, 0, {0, 0, {0}}, false, 0, 1, 0},
	{"finite", 0, 2, {5, 0, {0}}, true, 0, 1, 2},
	{"clipped", 1, 2, {4, 0, {0}}, true, 0, 0.25f, 2},
	{"below the clip", 8, 2, {4, 0, {0}}, true, 0, 1, 2},
	{"clipped without a scaler", 1, 0, {4, 0, {0}}, true, 0, 0.25f, 0},
	{"skipped", 0, 2, {INFINITY, 1, {0}}, true, 1, 1, 1},
	{"not to be skipped", 0, 0, {NAN, 1, {0}}, true, 0, 1, 0},
	{"clipped to nothing", 1, 0, {INFINITY, 1, {0}}, true, 0, 0, 0},
	{"clipped by no number", 1, 0, {NAN, 1, {0}}, true, 0, NAN, 0},
};

START_TEST(begins_a_step)
{
	const char *name = begins[_i].name;
	const struct update_control control = {0.1, 0.9, begins[_i].clip_norm};
	const float scale = begins[_i].scale;
	struct scaler scaler = scaler_default();
	struct update_factors factors;
	int64_t steps = 1;
	const struct update_begin_args args = {{0.99, 1e-8, 0.2, true, true},
					       &control,
					       begins[_i].measured ? &begins[_i].measure : NULL,
					       &steps,
					       &factors,
					       scale > 0 ? &scaler : NULL};

	scaler.scale = scale;
	memset(&factors, POISON, sizeof(factors));
	reference_update_begin(&args);
	ck_assert_msg(scaler.scale == begins[_i].next, "%s: scale %g", name, (double)scaler.scale);
	ROW_EQ_INT(name, factors.skip, begins[_i].skip);
	ROW_EQ_INT(name, steps, 2 - begins[_i].skip);
	ck_assert_msg(fabsf(factors.clip - begins[_i].clip) < 1e-6f ||
			      same_value((double)factors.clip, (double)begins[_i].clip),
		      "%s: clip %g", name, (double)factors.clip);
	ck_assert(factors.inv_scale == (scale > 0 ? 0.5f : 1) && factors.momentum == 0.9f &&
		  factors.decay == 0);
	ck_assert(factors.keep == (float)(1 - 0.1 * 0.2) && factors.minus_lr == -0.1f);
	if (!factors.skip)
		ck_assert(factors.minus_step == (float)-(0.1 / (1 - pow(0.9, 2))) &&
			  factors.root == (float)sqrt(1 - pow(0.99, 2)));
}
END_TEST

/* A convolution's filter: 3 channels, padded to 8 in a copy and in a gradient of another type. */
START_TEST(rows_are_as_the_flat_buffer)
{
	enum { ROWS_OF = 50, ROW = 3, PITCH = 8, COUNT = ROWS_OF * ROW, FIRST = 10 };
	struct state *flat = state_new(), *beside = state_new();
	uint16_t gradients[ROWS_OF * PITCH], copies[ROWS_OF * PITCH];
	const struct value_rows none = {.memory = NULL};
	const struct value_rows gradient = {gradients, VALUE_BFLOAT16, ROW, PITCH};
	const struct value_rows copy = {copies, VALUE_FLOAT16, ROW, PITCH};
	const struct update_control control = control_at(0);
	struct update_factors factors;
	int64_t steps = 0;
	const struct update_begin_args begin = {optimizer_update_settings(&kinds[3].settings),
						&control,
						NULL,
						&steps,
						&factors,
						NULL};
	struct chunk chunks[1];
	struct update_args args = {.chunks = chunks, .factors = &factors, .chunk_count = 1};

	memset(gradients, POISON, sizeof(gradients));
	memset(copies, POISON, sizeof(copies));
	for (int i = 0; i < COUNT; i++) {
		flat->gradients[FIRST + i] = (float)(i % 29 - 14) / 8;
		beside->gradients[FIRST + i] = NAN;
		value_set(VALUE_BFLOAT16, gradients, i / ROW * PITCH + i % ROW,
			  (double)flat->gradients[FIRST + i]);
	}
	reference_update_begin(&begin);
	for (int run = 0; run < 2; run++) {
		struct state *s = run ? beside : flat;

		args.values = s->values;
		args.gradients = s->gradients;
		args.mean = s->mean;
		args.variance = s->variance;
		ck_assert_int_eq(chunk_cut(chunks, FIRST, COUNT, run ? &copy : &none,
					   run ? &gradient : &none),
				 1);
		reference_update(&args);
	}
	ck_assert_mem_eq(flat->values, beside->values, sizeof(flat->values));
	ck_assert_mem_eq(flat->mean, beside->mean, sizeof(flat->mean));
	ck_assert_mem_eq(flat->variance, beside->variance, sizeof(flat->variance));
	for (int i = 0; i < ROWS_OF * PITCH; i++) {
		uint16_t want = POISON << 8 | POISON;
		int at = FIRST + i / PITCH * ROW + i % PITCH;

		if (i % PITCH < ROW)
			value_set(VALUE_FLOAT16, &want, 0, (double)flat->values[at]);
		ck_assert_msg(copies[i] == want, "copy %d is %#x, not %#x", i, copies[i], want);
	}
	free(flat);
	free(beside);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels of the optimizer");
	TCase *tests = tcase_create("kernels of the optimizer");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, updates_as_the_optimizer, 0, ROWS(kinds));
	tcase_add_test(tests, rows_are_as_the_flat_buffer);
	tcase_add_test(tests, norms_as_clip);
	tcase_add_loop_test(tests, finds_what_is_not_finite, 0, ROWS(infinities));
	tcase_add_test(tests, no_parameters);
	tcase_add_loop_test(tests, begins_a_step, 0, ROWS(begins));
	return unit_run(suite);
}
