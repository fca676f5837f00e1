/* SPDX-License-Identifier: MIT */
/* The operations of GPUs against the reference: on a GPU, or where it is pretended. */
#include "config.h"
#include "cuda-test.h"
#include "ops.h"

/* The greatest difference, relative to the greatest value that is wanted. */
static const struct {
	enum value_type type;
	bool exact;
	double tolerance;
} types[] = {
	{VALUE_FLOAT32, true, 2e-6},
	{VALUE_FLOAT32, false, 5e-3}, /* TF32: 10 bits */
	{VALUE_FLOAT16, false, 4e-3},
	{VALUE_BFLOAT16, false, 3e-2},
};

enum { TYPES = sizeof(types) / sizeof(*types) };

START_TEST(operations_are_the_reference)
{
	int row = _i % CASES, type = _i / CASES;
	const struct stage_setting reference = {&backend_reference, types[type].type, false, 1};
	const struct stage_setting setting = {&backend_cuda, types[type].type, types[type].exact,
					      1};

	cuda_test_begin();
	compare(&cases[row], &setting, &reference, types[type].tolerance);
	cuda_test_end(cases[row].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-ops");
	TCase *tests = tcase_create("ops");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, operations_are_the_reference, 0, TYPES * CASES);
	return unit_run(suite);
}
