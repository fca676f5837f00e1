/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "kernels/bf16.h"
#include "unit.h"

static const struct {
	float value;
	uint16_t bf16, fp16;
} rows[] = {
	{0, 0x0000, 0x0000},
	{-0.0f, 0x8000, 0x8000},
	{1, 0x3f80, 0x3c00},
	{-2.5f, 0xc020, 0xc100},
	{65504, 0x4780, 0x7bff}, /* the greatest fp16 */
	{65519.996f, 0x4780, 0x7bff},
	{65520, 0x4780, 0x7c00}, /* halfway to the next, which is even */
	{FLT_MAX, 0x7f80, 0x7c00},
	{0x1.fe8p127f, 0x7f7f, 0x7c00}, /* the greatest bf16 and a quarter of a place */
	{INFINITY, 0x7f80, 0x7c00},
	{-INFINITY, 0xff80, 0xfc00},
	{0x1.01p0f, 0x3f80, 0x3c04}, /* a tie of bf16, to even */
	{0x1.03p0f, 0x3f82, 0x3c0c},
	{0x1.010002p0f, 0x3f81, 0x3c04},
	{0x1.002p0f, 0x3f80, 0x3c00}, /* a tie of fp16, to even */
	{0x1.006p0f, 0x3f80, 0x3c02},
	{0x1p-14f, 0x3880, 0x0400}, /* the least normal fp16 */
	{0x1.ff8p-15f, 0x3880, 0x03ff},
	{0x1.ffep-15f, 0x3880, 0x0400}, /* a subnormal that a tie makes normal */
	{0x1p-24f, 0x3380, 0x0001},     /* the least fp16 */
	{0x1p-25f, 0x3300, 0x0000},     /* a tie, to even */
	{0x1.000002p-25f, 0x3300, 0x0001},
	{FLT_TRUE_MIN, 0x0000, 0x0000},
	{0x1.8p-133f, 0x0002, 0x0000}, /* a tie of bf16's subnormals */
};

START_TEST(rounding)
{
	float x = rows[_i].value;

	ck_assert_msg(bf16_from_float(x) == rows[_i].bf16, "%a: bf16 %#x, not %#x", (double)x,
		      bf16_from_float(x), rows[_i].bf16);
	ck_assert_msg(fp16_from_float(x) == rows[_i].fp16, "%a: fp16 %#x, not %#x", (double)x,
		      fp16_from_float(x), rows[_i].fp16);
}
END_TEST

/* All values but NaN come back, and fp16 also from the next float towards 0. */
START_TEST(round_trip)
{
	for (uint32_t h = 0; h <= 0xffff; h++) {
		uint16_t half = (uint16_t)h;
		float b = bf16_to_float(half), f = fp16_to_float(half);

		if (isnan(b))
			ck_assert_uint_eq(bf16_from_float(b), 0x7fc0);
		else
			ck_assert_uint_eq(bf16_from_float(b), half);
		if (isnan(f)) {
			ck_assert_uint_eq(fp16_from_float(f), (half & 0x8000) | 0x7e00);
		} else {
			ck_assert_uint_eq(fp16_from_float(f), half);
			if (f != 0)
				ck_assert_uint_eq(fp16_from_float(nextafterf(f, 0)), half);
		}
	}
}
END_TEST

/* fp16 by its definition. */
START_TEST(fp16_values)
{
	for (uint16_t half = 0; half < 0x7c00; half++) {
		int exponent = half >> 10, fraction = half & 0x3ff;
		float want = exponent ? ldexpf((float)(1024 + fraction), exponent - 25)
				      : ldexpf((float)fraction, -24);

		ck_assert_float_eq(fp16_to_float(half), want);
		ck_assert_float_eq(fp16_to_float(half | 0x8000), -want);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bf16");
	TCase *tests = tcase_create("bf16");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, rounding, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, round_trip);
	tcase_add_test(tests, fp16_values);
	return unit_run(suite);
}
