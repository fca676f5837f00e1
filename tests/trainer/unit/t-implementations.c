/* SPDX-License-Identifier: MIT */
/*
 * What operations of the onednn backend fall back to where oneDNN has only a plain loop. Any
 * implementation may count as one, so that each way is tried on every processor.
 */
#include <limits.h>

#include "ops.h"
#include "backend/onednn.h"
#include "kernels/bf16.h"

/* More than planning any of the cases looks at. */
enum { MOST = 200 };

static struct {
	int first, last, seen;
	enum onednn_half half;
} switched;

static void opened(struct device *device)
{
	struct onednn_device *own = (struct onednn_device *)device;

	if (device->backend != &backend_onednn)
		return;
	own->tried.first = switched.first;
	own->tried.last = switched.last;
	own->half = switched.half;
}

static void closing(struct device *device)
{
	if (device->backend == &backend_onednn)
		switched.seen = ((struct onednn_device *)device)->tried.count;
}

static void compare_with(int first, int last, enum value_type type, enum onednn_half half,
			 const struct stage_case *c)
{
	const struct stage_setting setting = {&backend_onednn, type, false, 1};
	const struct stage_setting reference = {&backend_reference, type, false, 1};

	switched.first = first;
	switched.last = last;
	switched.half = half;
	stage_opened = opened;
	stage_closing = closing;
	compare(c, &setting, &reference, type == VALUE_FLOAT32 ? 2e-5 : 3e-2);
	ck_assert_msg(switched.seen <= MOST, "%s: %d implementations", c->name, switched.seen);
}

/* Each of them alone, and all up to each. */
static void each_counts(enum value_type type, enum onednn_half half, const struct stage_case *c)
{
	switched.seen = MOST;
	for (int n = 1; n <= switched.seen; n++)
		compare_with(n, n, type, half, c);
	switched.seen = MOST;
	for (int n = 1; n <= switched.seen; n++)
		compare_with(1, n, type, half, c);
}

START_TEST(floats_without_an_implementation)
{
	each_counts(VALUE_FLOAT32, HALF_NONE, &cases[_i]);
}
END_TEST

/* Also where float32 is faster, and on processors whose oneDNN has no bfloat16 at all. */
START_TEST(halves_without_an_implementation)
{
	each_counts(VALUE_BFLOAT16, HALF_TILES, &cases[_i]);
	each_counts(VALUE_BFLOAT16, HALF_PAIRS, &cases[_i]);
}
END_TEST

/* Rounding decides which outputs are above zero. So the bias's gradient is compared with the sum of
 * the output gradients where this run's own output is. */
START_TEST(halves_in_float32_pass_relu)
{
	const struct stage_setting setting = {&backend_onednn, VALUE_BFLOAT16, false, 1};
	const struct stage_case *c = &cases[_i];
	double wanted[64] = {0.0};
	struct stage_result result;
	int64_t plane;

	if (c->count > 1 || !c->layers[0].relu)
		return;
	switched.first = 1;
	switched.last = INT_MAX;
	switched.half = HALF_TILES;
	stage_opened = opened;
	result = run(c, &setting, -1, 0.0);
	plane = result.outputs / c->batch / c->layers[0].out;
	for (int64_t i = 0; i < result.outputs; i++)
		if (result.output[i] > 0.0)
			wanted[i / plane % c->layers[0].out] +=
				bf16_to_float(bf16_from_float((float)stage_number(i, 3)));
	for (int i = 0; i < c->layers[0].out; i++) {
		double got = result.gradients[result.parameters - c->layers[0].out + i];

		ck_assert_msg(fabs(got - wanted[i]) < 1e-5, "%s: bias %d has %g, not %g", c->name,
			      i, got, wanted[i]);
	}
	stage_free(&result);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("implementations");
	TCase *tests = tcase_create("implementations");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, floats_without_an_implementation, 0, CASES);
	tcase_add_loop_test(tests, halves_without_an_implementation, 0, CASES);
	tcase_add_loop_test(tests, halves_in_float32_pass_relu, 0, CASES);
	return unit_run(suite);
}
