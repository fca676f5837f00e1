/* SPDX-License-Identifier: MIT */
/*
 * What operations of the onednn backend fall back to where oneDNN has only a plain loop. Any
 * implementation may count as one, so that each way is tried on every processor.
 */
#include <limits.h>

#include "ops.h"
#include "backend/onednn/onednn.h"
#include "kernels/bf16.h"

/* More than planning any of the cases looks at. */
enum { MOST = 1000 };

static struct {
	int first, last, seen, ways[WAYS];
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
	struct onednn_device *own = (struct onednn_device *)device;

	if (device->backend != &backend_onednn)
		return;
	switched.seen = own->tried.count;
	for (int way = 0; way < WAYS; way++)
		switched.ways[way] += own->tried.ways[way];
}

static void compare_with(int first, int last, enum value_type type, enum onednn_half half,
			 const struct stage_case *c)
{
	const struct stage_setting setting = {&backend_onednn, type, false, 1 + last % 2};
	const struct stage_setting reference = {&backend_reference, type, false, 1};

	switched.first = first;
	switched.last = last;
	switched.half = half;
	compare(c, &setting, &reference, type == VALUE_FLOAT32 ? 2e-5 : 3e-2);
	ck_assert_msg(switched.seen <= MOST, "%s: %d implementations", c->name, switched.seen);
}

/* Each of them alone, and all up to each. Which is the n-th may change from run to run. */
static void each_counts(enum value_type type, enum onednn_half half)
{
	for (int i = 0; i < CASES; i++) {
		switched.seen = MOST;
		for (int n = 1; n <= switched.seen; n++)
			compare_with(n, n, type, half, &cases[i]);
		switched.seen = MOST;
		for (int n = 1; n <= switched.seen; n++)
			compare_with(1, n, type, half, &cases[i]);
	}
}

/* A reference has the right numbers too, so that only this shows a way that is never taken. */
static void all_taken(const enum onednn_way *ways, int count)
{
	for (int i = 0; i < count; i++)
		ck_assert_msg(switched.ways[ways[i]] > 0, "way %d is never taken", (int)ways[i]);
}

START_TEST(floats_without_an_implementation)
{
	static const enum onednn_way ways[] = {WAY_MOVED, WAY_REFERENCES, WAY_PADDED};
	bool pads = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;

	each_counts(VALUE_FLOAT32, HALF_NONE);
	all_taken(ways, pads ? 3 : 2);
}
END_TEST

/* Also where float32 is faster, and on processors whose oneDNN has no bfloat16 at all. */
START_TEST(halves_without_an_implementation)
{
	static const enum onednn_way ways[] = {WAY_MOVED, WAY_WIDENED, WAY_REFERENCES};

	each_counts(VALUE_BFLOAT16, HALF_TILES);
	each_counts(VALUE_BFLOAT16, HALF_PAIRS);
	all_taken(ways, 3);
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
	switched.ways[WAY_WIDENED] = 0;
	result = run(c, &setting, -1, 0.0);
	ck_assert_int_gt(switched.ways[WAY_WIDENED], 0);
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

	stage_opened = opened;
	stage_closing = closing;
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, floats_without_an_implementation);
	tcase_add_test(tests, halves_without_an_implementation);
	tcase_add_loop_test(tests, halves_in_float32_pass_relu, 0, CASES);
	return unit_run(suite);
}
