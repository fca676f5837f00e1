/* SPDX-License-Identifier: MIT */
/* How many devices an environment shows; its findings are in tests/cli/lint.tsv. */
#include "lint/environment.h"
#include "unit.h"

static const struct {
	const char *name, *machine;
	const char *envp[3];
	int64_t visible;
} rows[] = {
	{"nothing known", NULL, {NULL}, -1},
	{"a machine", "4", {NULL}, 4},
	{"a list", NULL, {"CUDA_VISIBLE_DEVICES=1,2", NULL}, 2},
	{"an empty list", NULL, {"CUDA_VISIBLE_DEVICES=", NULL}, 0},
	{"both", "4", {"CUDA_VISIBLE_DEVICES=3,9,1", NULL}, 1},
	{"malformed", "4", {"GPUMAP_MODE=x", NULL}, -1},
};

START_TEST(visible)
{
	gpumap_inventory *machine = NULL;

	if (rows[_i].machine)
		ck_assert_int_eq(gpumap_inventory_open(&machine, rows[_i].machine, NULL),
				 GPUMAP_OK);
	ROW_EQ_INT(rows[_i].name, lint_environment(rows[_i].envp, machine, NULL), rows[_i].visible);
	gpumap_inventory_free(machine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-environment");
	TCase *tests = tcase_create("lint-environment");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, visible, 0, sizeof(rows) / sizeof(rows[0]));
	return unit_run(suite);
}
