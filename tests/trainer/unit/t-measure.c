/* SPDX-License-Identifier: MIT */
/* What a device measures of gradients: PyTorch's norms to the bit, and what is not finite. */
#include <math.h>

#include "optimize.h"

START_TEST(norms_are_those_of_each_parameter)
{
	const struct backend *backend = backends[_i];
	struct buffers b = buffers_new();

	new_gradients(&b, 0);
	b.scaler.scale = 8;
	for (int threads = 1; threads <= 3; threads++) {
		struct device *device = opened_with(backend, threads);
		struct optimize *optimize = optimize_of(device, &b, &kinds[0].settings);
		struct gradient_measure m = measured(optimize, backend);

		ck_assert(m.found_inf == 0);
		ck_assert_float_eq(m.norm, clip_norm(m.norms, PARAMETERS, 1));
		for (int i = 0; i < PARAMETERS; i++) {
			const struct optimize_parameter *p = &parameters[i];
			float want = clip_norm(b.gradients + p->offset, p->elements, 0.125f);

			ck_assert_msg(m.norms[i] == (p->used ? want : 0),
				      "%s, %d threads: norm %g, not %g", p->name, threads,
				      (double)m.norms[i], (double)want);
		}
		backend->optimize_free(optimize);
		backend->close(device);
	}
	buffers_free(&b);
}
END_TEST

/* The sum of what stages measure is what the whole model measures. A stage may have nothing. */
START_TEST(stages_measure_as_the_whole)
{
	const struct backend *backend = backends[_i];
	const int ends[] = {2, 2, 3, PARAMETERS};
	struct buffers b = buffers_new();
	struct device *device = opened_with(backend, 2);
	struct optimize *whole = optimize_of(device, &b, &kinds[0].settings), *stage;

	for (int infinite = 0; infinite < 2; infinite++) {
		struct gradient_measure want, sum = {.found_inf = 0};
		struct train_error error = {.status = TRAIN_OK};

		new_gradients(&b, 0);
		if (infinite)
			b.gradients[parameters[PARAMETERS - 1].offset] = INFINITY;
		want = measured(whole, backend);
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			struct gradient_measure part;

			stage = stage_of(device, &b, &kinds[0].settings, i > 0 ? ends[i - 1] : 0,
					 ends[i]);
			part = measured(stage, backend);
			sum.found_inf += part.found_inf;
			for (int p = 0; p < GRADIENT_MAX_PARAMETERS; p++)
				sum.norms[p] += part.norms[p];
			backend->optimize_free(stage);
		}
		ck_assert(backend->optimize_norm(whole, &sum, &error));
		ck_assert(want.found_inf == (infinite ? 1 : 0));
		ck_assert(isfinite(want.norm) != infinite);
		ck_assert_mem_eq(&sum, &want, sizeof(sum));
	}
	backend->optimize_free(whole);
	backend->close(device);
	buffers_free(&b);
}
END_TEST

/* One gradient, and whether the measure is finite then. */
static const struct {
	const char *name;
	int64_t at;
	float value, scale;
	bool finite;
} infinities[] = {
	{"plain", 6810, 1, 1, true},
	{"an overflow", 6810, INFINITY, 2, false},
	{"a NaN at the first", 3, NAN, 1, false},
	{"the last of a parameter", 6810 + 40000, -INFINITY, 1, false},
	{"the last of all", ELEMENTS - 1, NAN, 1, false},
	{"of a dead layer", 2000, NAN, 1, true},
	{"between parameters", 6806, INFINITY, 1, true},
	{"a square that overflows", 6810, 1e38f, 1, true},
	{"beyond floats when unscaled", 6810, 1e38f, 0.0625f, false},
	{"without a scale that is left", 6810, 0, 0, false},
};
enum { INFINITIES = sizeof(infinities) / sizeof(*infinities) };

START_TEST(finds_what_is_not_finite)
{
	const struct backend *backend = backends[_i / INFINITIES];
	int row = _i % INFINITIES;
	struct buffers b = buffers_new();

	b.gradients[infinities[row].at] = infinities[row].value;
	b.scaler.scale = infinities[row].scale;
	for (int threads = 1; threads <= 3; threads += 2) {
		struct device *device = opened_with(backend, threads);
		struct optimize *optimize = optimize_of(device, &b, &kinds[0].settings);

		ROW_EQ_INT(infinities[row].name, measured(optimize, backend).found_inf == 0,
			   infinities[row].finite);
		backend->optimize_free(optimize);
		backend->close(device);
	}
	buffers_free(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("measure");
	TCase *tests = tcase_create("measure");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, norms_are_those_of_each_parameter, 0, BACKENDS);
	tcase_add_loop_test(tests, stages_measure_as_the_whole, 0, BACKENDS);
	tcase_add_loop_test(tests, finds_what_is_not_finite, 0, BACKENDS * INFINITIES);
	return unit_run(suite);
}
