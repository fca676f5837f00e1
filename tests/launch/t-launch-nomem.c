/* SPDX-License-Identifier: MIT */
/* Whichever allocation fails, the ranks run or do not start, nothing hangs, and a failure is
 * reported. */
#include "launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "report/report.h"
#include "unit.h"

static char program[] = "/bin/sh", option[] = "-c";
static char script[] = "echo same; echo $$; printf 'a\\rb'; printf tail";
static char *const arguments[] = {program, option, script, NULL};
static char *const environment[] = {NULL};

static int run_once(enum launch_console console, struct launch_result *result,
		    gpumap_report *report)
{
	const struct launch_rank ranks[] = {
		{.argv = arguments, .envp = environment, .rank = 0, .out_path = "/dev/null"},
		{.argv = arguments, .envp = environment, .rank = 1, .out_path = "/dev/null"},
	};
	struct launch launch = {.ranks = ranks, .count = 2, .grace_ms = 1000, .console = console};

	sigemptyset(&launch.forward);
	return launch_run(&launch, result, report);
}

/* Ranks write to standard output, which is this test's. */
static void hide_output(int saved[2])
{
	int null = open("/dev/null", O_WRONLY);

	saved[0] = dup(STDOUT_FILENO);
	saved[1] = dup(STDERR_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

static void show_output(const int saved[2])
{
	dup2(saved[0], STDOUT_FILENO);
	dup2(saved[1], STDERR_FILENO);
	close(saved[0]);
	close(saved[1]);
}

START_TEST(each_allocation)
{
	static const enum launch_console consoles[] = {LAUNCH_PREFIX, LAUNCH_COLLAPSE};
	enum launch_console console = consoles[_i];

	for (size_t n = 1;; n++) {
		struct launch_result result;
		gpumap_report *report;
		int saved[2], r;
		bool failed;

		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		hide_output(saved);
		allocations_fail_at(n);
		r = run_once(console, &result, report);
		failed = allocations_failed();
		allocations_fail_at(0);
		show_output(saved);
		ck_assert_msg(result.status == 0 || result.status == 125,
			      "allocation %zu: status %d", n, result.status);
		ck_assert_msg((r == GPUMAP_OK) == (result.status == 0), "allocation %zu: %d", n, r);
		ck_assert_msg(r == GPUMAP_OK || gpumap_report_count(report) > 0,
			      "allocation %zu: nothing is reported", n);
		ck_assert_msg(waitpid(-1, NULL, WNOHANG) < 0, "allocation %zu: a child", n);
		launch_result_free(&result);
		gpumap_report_free(report);
		if (!failed && r == GPUMAP_OK)
			break;
	}
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tcase;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("launch-nomem");
	tcase = tcase_create("launch-nomem");
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, each_allocation, 0, 2);
	return unit_run(suite);
}
