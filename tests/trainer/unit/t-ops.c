/* SPDX-License-Identifier: MIT */
/* Every operation: the reference against finite differences in double, the others against it. */
#include "config.h"
#include "ops.h"

START_TEST(gradients_are_differences)
{
	gradients_are_differences_of(&cases[_i], DIFFERENCES, 1e-6, 1e-7);
}
END_TEST

START_TEST(types_round)
{
	const struct stage_setting exact = {&backend_reference, VALUE_FLOAT64, false, 1};
	const struct stage_setting types[] = {
		{&backend_reference, VALUE_FLOAT32, false, 1},
		{&backend_reference, VALUE_FLOAT16, false, 1},
		{&backend_reference, VALUE_BFLOAT16, false, 1},
	};

	compare(&cases[_i], &types[0], &exact, 1e-6);
	/* An input rounds by half a unit in 11 and 8 bits. */
	if (!decides(&cases[_i])) {
		compare(&cases[_i], &types[1], &exact, 4e-3);
		compare(&cases[_i], &types[2], &exact, 3e-2);
	}
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_is_the_reference)
{
	const struct stage_setting reference = {&backend_reference, VALUE_FLOAT32, false, 1};

	for (int threads = 1; threads <= 2; threads++)
		for (int exact = 0; exact < 2; exact++) {
			const struct stage_setting setting = {&backend_onednn, VALUE_FLOAT32, exact,
							      threads};

			compare(&cases[_i], &setting, &reference, exact ? 2e-6 : 2e-5);
		}
}
END_TEST

/* On a processor without it, one line reports that. */
START_TEST(onednn_has_bfloat16_or_says_so)
{
	const struct stage_setting setting = {&backend_onednn, VALUE_BFLOAT16, false, 1};
	const struct stage_setting reference = {&backend_reference, VALUE_BFLOAT16, false, 1};
	struct train_error error = {.status = TRAIN_OK};
	struct stage_result result;

	if (stage_run(&result, &cases[_i], &setting, -1, 0.0, &error)) {
		stage_free(&result);
		compare(&cases[_i], &setting, &reference, 3e-2);
		return;
	}
	ck_assert_msg(error.status == TRAIN_NO_BACKEND && strstr(error.text, "no fast"), "%s: %s",
		      cases[_i].name, error.text);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("ops");
	TCase *tests = tcase_create("ops");
#ifdef HAVE_DNNL
	TCase *onednn = tcase_create("onednn"); /* what depends on the processor */
#endif

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, gradients_are_differences, 0, CASES);
	tcase_add_loop_test(tests, types_round, 0, CASES);
#ifdef HAVE_DNNL
	suite_add_tcase(suite, onednn);
	tcase_add_loop_test(onednn, onednn_is_the_reference, 0, CASES);
	tcase_add_loop_test(onednn, onednn_has_bfloat16_or_says_so, 0, CASES);
#endif
	return unit_run(suite);
}
