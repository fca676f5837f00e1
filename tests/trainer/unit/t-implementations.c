/* SPDX-License-Identifier: MIT */
/*
 * What operations of the onednn backend fall back to where oneDNN has only a plain loop. Any
 * implementation may count as one, so that each way is tried on every processor.
 */
#include "ops.h"
#include "backend/cpu_winograd_bf16.h"
#include "backend/onednn.h"

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

int main(void)
{
	Suite *suite = suite_create("implementations");
	TCase *tests = tcase_create("implementations");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, floats_without_an_implementation, 0, CASES);
	tcase_add_loop_test(tests, halves_without_an_implementation, 0, CASES);
	return unit_run(suite);
}
