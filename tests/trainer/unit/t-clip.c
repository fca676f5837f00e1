/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "kernels/bf16.h"
#include "kernels/update.h"
#include "optim/clip.h"
#include "unit.h"

static float value_at(int i)
{
	return (float)(i * 37 % 23 - 11) / 7;
}

/* torch.norm(x, 2.0) of PyTorch 1.13 on a processor with AVX2. */
static const struct {
	int n;
	uint32_t norm;
} torch_norms[] = {
	{1, 0x3fc92492}, {3, 0x3feb984e}, {8, 0x4030574e}, {11, 0x405346f3}, {1024, 0x41f2abbe},
};

START_TEST(norms_as_pytorch)
{
	int n = torch_norms[_i].n;
	float x[1024];

	for (int i = 0; i < n; i++)
		x[i] = value_at(i);
	ck_assert_msg(float_bits(clip_norm(x, n, 1)) == torch_norms[_i].norm, "%d elements: %a", n,
		      (double)clip_norm(x, n, 1));
	/* A power of two changes the exponent alone. */
	ck_assert_float_eq(clip_norm(x, n, 0.25f), 0.25f * clip_norm(x, n, 1));
}
END_TEST

/* Every number of elements, against double. */
START_TEST(norms_are_norms)
{
	float x[80];
	double sum = 0;

	for (int n = 0; n < 80; n++) {
		float norm = clip_norm(x, n, 1);

		ck_assert_float_le(fabsf(norm - (float)sqrt(sum)), 2e-7f * (float)sqrt(sum));
		x[n] = value_at(n);
		sum += (double)x[n] * (double)x[n];
	}
}
END_TEST

START_TEST(not_finite)
{
	float x[20] = {0};

	for (int i = 0; i < 20; i++) {
		x[i] = -INFINITY;
		ck_assert(isinf(clip_norm(x, 20, 1)));
		x[i] = NAN;
		ck_assert(isnan(clip_norm(x, 20, 1)));
		x[i] = 0;
	}
}
END_TEST

/* PyTorch's coefficients. */
static const struct {
	float norm;
	double max;
	uint32_t coefficient;
} coefficients[] = {
	{5, 1, 0x3e4cccca}, {0.5f, 1, 0x3f800000},     {3, 2.5, 0x3f555551},
	{0, 1, 0x3f800000}, {INFINITY, 1, 0x00000000},
};

START_TEST(coefficients_as_pytorch)
{
	float got = clip_coefficient(coefficients[_i].norm, coefficients[_i].max);

	ck_assert_msg(float_bits(got) == coefficients[_i].coefficient, "norm %g: %a",
		      (double)coefficients[_i].norm, (double)got);
	ck_assert(isnan(clip_coefficient(NAN, coefficients[_i].max)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clip");
	TCase *tests = tcase_create("clip");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, norms_as_pytorch, 0, sizeof(torch_norms) / sizeof(*torch_norms));
	tcase_add_test(tests, norms_are_norms);
	tcase_add_test(tests, not_finite);
	tcase_add_loop_test(tests, coefficients_as_pytorch, 0,
			    sizeof(coefficients) / sizeof(*coefficients));
	return unit_run(suite);
}
