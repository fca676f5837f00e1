/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/scaler.h"
#include "unit.h"

/* Steps are '.' for good and 'x' for an overflow; behind them, what is left. */
static const struct {
	const char *steps;
	float scale_before;
	int32_t interval;
	float scale;
	int32_t good_steps;
} rows[] = {
	{"", 65536, 2000, 65536, 0},
	{"..", 65536, 3, 65536, 2},
	{"...", 65536, 3, 131072, 0},
	{"......", 65536, 3, 262144, 0},
	{"x", 65536, 3, 32768, 0},
	{"xx.", 65536, 3, 16384, 1},
	{"..x..", 65536, 3, 32768, 2},
	{"..x...", 65536, 3, 65536, 0},
	{".", 65536, 1, 131072, 0},
	/* The scale does not grow past the greatest float, and counting begins again. */
	{"..", 0x1p127f, 2, 0x1p127f, 0},
	{"...", 0x1p127f, 2, 0x1p127f, 1},
	/* The scale may fall to 0. */
	{"x", 0x1p-149f, 2, 0, 0},
	{"xxxx", 0x1p-147f, 2, 0, 0},
};

START_TEST(scales_as_pytorch)
{
	struct scaler s = scaler_default();

	s.scale = rows[_i].scale_before;
	s.growth_interval = rows[_i].interval;
	for (const char *step = rows[_i].steps; *step; step++)
		ck_assert_int_eq(scaler_update(&s, *step == '.'), *step == '.');
	ck_assert_msg(s.scale == rows[_i].scale, "'%s': scale %g", rows[_i].steps, (double)s.scale);
	ROW_EQ_INT(rows[_i].steps, s.good_steps, rows[_i].good_steps);
}
END_TEST

START_TEST(defaults_as_pytorch)
{
	struct scaler s = scaler_default();

	for (int i = 0; i < 1999; i++)
		scaler_update(&s, true);
	ck_assert_float_eq(s.scale, 65536);
	ck_assert_float_eq(scaler_inverse(&s), 0x1p-16f);
	scaler_update(&s, true);
	ck_assert_float_eq(s.scale, 131072);
	s.scale = 0;
	ck_assert(isinf(scaler_inverse(&s)));
}
END_TEST

START_TEST(a_constant_scale_stays)
{
	struct scaler s = scaler_constant(1024);

	for (int i = 0; i < 5000; i++)
		ck_assert_int_eq(scaler_update(&s, i % 2500 > 0), i % 2500 > 0);
	ck_assert_float_eq(s.scale, 1024);
}
END_TEST

/* Each place of each length around a vector. */
START_TEST(finds_what_is_not_finite)
{
	static const float bad[] = {INFINITY, -INFINITY, NAN, -NAN}, zeros[40];
	float x[40];

	for (int i = 0; i < 40; i++)
		x[i] = i % 2 ? FLT_MAX : -FLT_TRUE_MIN;
	for (int n = 0; n <= 40; n++) {
		ck_assert(scaler_finite(x, n, 1));
		for (int i = 0; i < n; i++) {
			float kept = x[i];

			x[i] = bad[i % 4];
			ck_assert_msg(!scaler_finite(x, n, 1), "%d of %d", i, n);
			x[i] = kept;
		}
		ck_assert_msg(scaler_finite(x, n, 2) == (n < 2), "2 FLT_MAX, %d", n);
		ck_assert_msg(scaler_finite(x, n, INFINITY) == (n == 0), "no scale, %d", n);
		ck_assert_msg(scaler_finite(zeros, n, INFINITY) == (n == 0), "zeros, %d", n);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scaler");
	TCase *tests = tcase_create("scaler");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, scales_as_pytorch, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, defaults_as_pytorch);
	tcase_add_test(tests, a_constant_scale_stays);
	tcase_add_test(tests, finds_what_is_not_finite);
	return unit_run(suite);
}
