/* SPDX-License-Identifier: MIT */
/* Every allocation of the linters fails once. */
#include "failing_malloc.h"
#include "lint/environment.h"
#include "lint/python.h"
#include "unit.h"

static const char program[] =
	"import os, torch\nimport torch.nn as nn\nfrom torch import distributed as dist\n"
	"os.environ['CUDA_VISIBLE_DEVICES'] = '2,2'\nos.environ['RANK'] = '1'\n"
	"os.environ['CUDA_VISABLE_DEVICES'] = '1'\n"
	"rank = dist.get_rank()\ndef f(a, b):\n    torch.cuda.set_device(rank)\n"
	"m = nn.DataParallel(Net().cuda(1), device_ids=[0, 1])\n"
	"dist.init_process_group('nccl', init_method='tcp://a:1')\n";

static const char *const envp[] = {"CUDA_VISIBLE_DEVICES=0,0", "RANK=1", "MASTER_PORT=x",
				   "NCCL_P2P_DISABLE=1", NULL};

static int lint_program(gpumap_report *report)
{
	struct python_start start = {.launcher = "torchrun", .passes = 0};

	return lint_python(span_of(program), "a.py", &start, report);
}

static int lint_variables(gpumap_report *report)
{
	return lint_environment(envp, NULL, NULL, report);
}

static const struct {
	int (*lint)(gpumap_report *report);
	size_t findings;
} linters[] = {{lint_program, 9}, {lint_variables, 6}};

START_TEST(every_allocation_fails)
{
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(linters[_i].lint(report), GPUMAP_OK);
	ck_assert_uint_eq(gpumap_report_count(report), linters[_i].findings);
	gpumap_report_free(report);
	for (size_t n = 1;; n++) {
		bool failed;
		int r;

		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		allocations_fail_at(n);
		r = linters[_i].lint(report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "%zu gives %d", n, r);
		/* What is missing in the report is said there. */
		if (failed)
			ck_assert_str_eq(
				gpumap_finding_str(
					gpumap_report_get(report, gpumap_report_count(report) - 1),
					GPUMAP_FINDING_ID),
				"GM001");
		gpumap_report_free(report);
		if (!failed)
			break;
	}
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("lint-nomem");
	tests = tcase_create("lint-nomem");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, every_allocation_fails, 0, ARRAY_SIZE(linters));
	return unit_run(suite);
}
