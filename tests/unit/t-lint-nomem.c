/* SPDX-License-Identifier: MIT */
/* Every allocation of the linters fails once. */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lint_print.h"
#include "failing_malloc.h"
#include "lint/environment.h"
#include "lint/lint.h"
#include "lint/python.h"
#include "unit.h"

static const char program[] =
	"import os, torch\nimport torch.nn as nn\nfrom torch import distributed as dist\n"
	"os.environ['CUDA_VISIBLE_DEVICES'] = '2,2'\nos.environ['RANK'] = '1'\n"
	"os.environ['CUDA_VISABLE_DEVICES'] = '1'\n"
	"rank = dist.get_rank()\ndef f(a, b):\n    torch.cuda.set_device(rank)\n"
	"m = nn.DataParallel(Net().cuda(1), device_ids=[0, 1])\n"
	"dist.init_process_group('nccl', init_method='tcp://a:1')\n"
	"p.add_argument('--n', default=2)\nn = [0, 1]\nos.environ['MASTER_PORT'] = '1'\n"
	"dist.init_process_group('nccl', world_size=args.n * 2)\n"
	"os.system('CUDA_VISIBLE_DEVICES=0,0 torchrun --nproc_per_node 4 b.py')\n";

static const char *const envp[] = {"CUDA_VISIBLE_DEVICES=0,0", "RANK=1", "MASTER_PORT=x",
				   "NCCL_P2P_DISABLE=1", NULL};

static int lint_program(gpumap_report *report)
{
	static const char *const arguments[] = {"--n", "4", NULL};
	struct python_start start = {.launcher = "torchrun",
				     .passes = 0,
				     .from = "run.sh:2",
				     .list = "2",
				     .list_from = "run.sh:1",
				     .order = "CUDA_DEVICE_ORDER=PCI_BUS_ID",
				     .visible = 1,
				     .ranks = 2,
				     .hosts = 1,
				     .port = 29501,
				     .arguments = arguments};

	return lint_python(span_of(program), "a.py", &start, report);
}

static int lint_variables(gpumap_report *report)
{
	return lint_environment(envp, NULL, NULL, report);
}

static const struct {
	int (*lint)(gpumap_report *report);
	size_t findings;
} linters[] = {{lint_program, 11}, {lint_variables, 6}};

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
		/* An incomplete report has a finding that states it. */
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

/* --- a folder, as tools show what is in it -------------------------------------------------- */

static const struct {
	const char *name, *text;
} files[] = {
	{"a.py", "import os\nos.environ['RANK'] = '1'  # gpumap: ignore=GM001\ns = '\303\244'; "
		 "os.environ['CUDA_VISIBLE_DEVICES'] = '0,0'\n"},
	{"nb.ipynb", "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"%env C"
		     "UDA_VISIBLE_DEVICES=1\\n\", \"!CUDA_VISABLE_DEVICES=1 python"
		     " x.py\"]}, {\"cell_type\": \"code\", \"source\": \"import to"
		     "rch # gpumap: ignore\\ntorch.cuda.set_device(1)\"}]}"},
	{"run.sh", "#!/bin/sh\n# gpumap: ignore\ntorchrun --nproc_per_node=2 a.py\n"
		   "CUDA_VISABLE_DEVICES=1 python3 sub/b.py\n"},
	{"sub/b.py", "p.add_argument('--local_rank')\nprint(args.local_rank)\n"},
	{"gpumap.ini", "[profile p]\nprogram = q\ngups = 1\n[program q]\ncommand = python3 a.py\n"},
};

static void write_files(void)
{
	char *folder = mkdtemp((char[]){"/tmp/lint-nomem-XXXXXX"});

	ck_assert_ptr_nonnull(folder);
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir("d", 0700), 0);
	ck_assert_int_eq(chdir("d"), 0);
	ck_assert_int_eq(mkdir("sub", 0700), 0);
	ck_assert_int_eq(mkdir("venv", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		FILE *f = fopen(files[i].name, "w");

		ck_assert_ptr_nonnull(f);
		ck_assert_int_ge(fputs(files[i].text, f), 0);
		ck_assert_int_eq(fclose(f), 0);
	}
	ck_assert_int_eq(chdir(".."), 0);
}

static void remove_files(void)
{
	char *here = getcwd(NULL, 0);

	ck_assert_int_eq(chdir("d"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		ck_assert_int_eq(unlink(files[i].name), 0);
	ck_assert_int_eq(rmdir("sub"), 0);
	ck_assert_int_eq(rmdir("venv"), 0);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_ptr_nonnull(here);
	ck_assert_int_eq(rmdir(strcat(strcpy((char[256]){0}, here), "/d")), 0);
	ck_assert_int_eq(rmdir(here), 0);
	free(here);
}

static gpumap_plan *check_nothing(const struct lint *lint, gpumap_profile *profile,
				  struct python_start *start, gpumap_report *report)
{
	(void)lint;
	(void)profile;
	(void)start;
	(void)report;
	return NULL;
}

static bool is_told(const gpumap_report *report)
{
	return gpumap_report_count(report) &&
	       finding_is(gpumap_report_get(report, gpumap_report_count(report) - 1),
			  FINDING_NOMEM);
}

/* The answer; *told: the report states that it may be incomplete. */
static char *show(bool sarif, bool *told)
{
	struct lint lint = {.check_launch = check_nothing};
	struct strbuf text = {0};
	int r = gpumap_report_new(&lint.found);

	if (r == GPUMAP_OK)
		r = gpumap_report_new(&lint.failures);
	if (r == GPUMAP_OK)
		r = lint_files(&lint, (const char *const[]){"d"}, 1);
	if (r == GPUMAP_OK && sarif)
		lint_sarif(&text, lint.found, lint.failures);
	else if (r == GPUMAP_OK)
		lint_github(&text, lint.found, lint.failures);
	*told = r != GPUMAP_OK || text.failed || is_told(lint.found) || is_told(lint.failures);
	gpumap_report_free(lint.found);
	gpumap_report_free(lint.failures);
	return strbuf_take(&text);
}

START_TEST(folder)
{
	bool told, failed = true;
	char *whole;

	write_files();
	whole = show(_i, &told);
	ck_assert_ptr_nonnull(whole);
	ck_assert(!told);
	ck_assert_ptr_nonnull(strstr(whole, "GM228"));
	for (size_t n = 1; failed; n++) {
		char *text;

		allocations_fail_at(n);
		text = show(_i, &told);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(failed || !told, "%zu fails without a reason", n);
		ck_assert_msg(told || (text && streq(text, whole)), "%zu gives %s", n,
			      text ? text : "nothing");
		free(text);
	}
	free(whole);
	remove_files();
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
	tcase_add_loop_test(tests, every_allocation_fails, 0, ARRAY_SIZE(linters));
	tcase_add_loop_test(tests, folder, 0, 2);
	return unit_run(suite);
}
