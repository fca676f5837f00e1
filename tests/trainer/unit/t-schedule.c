/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "optim/schedule.h"
#include "unit.h"

/* PyTorch 1.13's schedulers, stepped, at a rate of 0.1. */
static const struct {
	enum schedule_kind kind;
	int64_t steps;
	double lr_min, warmup;
	int64_t step;
	double lr, momentum;
} rows[] = {
	{SCHEDULE_CONSTANT, 4, 0, 0.3, 0, 0.1, 0.9},
	{SCHEDULE_CONSTANT, 4, 0, 0.3, 3, 0.1, 0.9},
	{SCHEDULE_COSINE, 4, 0.01, 0.3, 0, 0.1, 0.9},
	{SCHEDULE_COSINE, 4, 0.01, 0.3, 1, 0x1.639d29fc76773p-4, 0.9},
	{SCHEDULE_COSINE, 4, 0.01, 0.3, 2, 0x1.c28f5c28f5c2ap-5, 0.9},
	{SCHEDULE_COSINE, 4, 0.01, 0.3, 3, 0x1.7bc8c8b1fd2dap-6, 0.9},
	{SCHEDULE_COSINE, 4, 0.01, 0.3, 4, 0.01, 0.9},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 0, 0x1.0624dd2f1aa00p-8, 0x1.e666666666666p-1},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 1, 0x1.a9fbe76c8b43ap-5, 0x1.cccccccccccccp-1},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 2, 0.1, 0.85},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 3, 0x1.8551898fc1ee6p-4, 0x1.b5bc35de9082dp-1},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 8, 0x1.4487b69a2163ap-8, 0x1.e3dd63bb0916cp-1},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 9, 0x1.ad7f29abcaf48p-22, 0x1.e666666666666p-1},
	{SCHEDULE_ONE_CYCLE, 3, 0, 0.1, 0, 0x1.5957b0fe8078cp-4, 0x1.bb3b72619eba6p-1},
	{SCHEDULE_ONE_CYCLE, 3, 0, 0.1, 2, 0x1.ad7f29abcaf48p-22, 0x1.e666666666666p-1},
	/* Where PyTorch raises: past the end, and where a phase has no length. */
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.3, 99, 0x1.ad7f29abcaf48p-22, 0x1.e666666666666p-1},
	{SCHEDULE_ONE_CYCLE, 10, 0, 0.1, 0, 0.1, 0.85},
	{SCHEDULE_ONE_CYCLE, 1, 0, 1, 0, 0.1, 0.85},
};

START_TEST(rates_as_pytorch)
{
	struct schedule s =
		schedule_default(rows[_i].kind, rows[_i].steps, (struct rates){0.1, 0.9});
	struct rates got;

	s.lr_min = rows[_i].lr_min;
	s.warmup = rows[_i].warmup;
	got = schedule_at(&s, rows[_i].step);
	/* The C library's cosine may differ in the last place from one version to another. */
	ck_assert_msg(fabs(got.lr - rows[_i].lr) <= 1e-16 &&
			      fabs(got.momentum - rows[_i].momentum) <= 2e-16,
		      "row %d: %a, momentum %a", _i, got.lr, got.momentum);
}
END_TEST

START_TEST(momentum_may_stay)
{
	struct schedule s = schedule_default(SCHEDULE_ONE_CYCLE, 10, (struct rates){0.1, 0});

	s.cycle_momentum = false;
	ck_assert_double_eq(schedule_at(&s, 4).momentum, 0);
}
END_TEST

/* Every step of every length has a rate between the least and the greatest. */
START_TEST(rates_stay_between)
{
	struct schedule s = schedule_default((enum schedule_kind)_i, 1, (struct rates){0.1, 0.9});

	for (s.steps = 1; s.steps <= 60; s.steps++)
		for (s.warmup = 0; s.warmup <= 1; s.warmup += 0.125)
			for (int64_t step = 0; step < s.steps; step++) {
				struct rates rates = schedule_at(&s, step);

				ck_assert_msg(rates.lr >= 0 && rates.lr <= 0.1 + 1e-15 &&
						      rates.momentum >= 0.85 - 1e-15 &&
						      rates.momentum <= 0.95 + 1e-15,
					      "step %d of %d, warm-up %g: %g, %g", (int)step,
					      (int)s.steps, s.warmup, rates.lr, rates.momentum);
			}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule");
	TCase *tests = tcase_create("schedule");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, rates_as_pytorch, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, momentum_may_stay);
	tcase_add_loop_test(tests, rates_stay_between, SCHEDULE_CONSTANT, SCHEDULE_ONE_CYCLE + 1);
	return unit_run(suite);
}
