/* SPDX-License-Identifier: MIT */
/* Every allocation of gpumap exec fails once, up to the moment that it becomes the program. */
#include <unistd.h>

#include "exec/exec.h"
#include "failing_malloc.h"
#include "unit.h"

#define OMPI \
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=9"
#define SLURM \
	"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0", \
		"SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=1"

static const struct {
	int whole;
	const char *name, *environment[16], *settings[6][2];
} cases[] = {
	{GPUMAP_OK,
	 "list passed on",
	 {OMPI, "CUDA_VISIBLE_DEVICES=0,1"},
	 {{"--device", "cuda:%l"}}},
	{GPUMAP_OK,
	 "one each",
	 {OMPI},
	 {{"--share", "isolate"}, {"--inventory", "2"}, {"--device", "cuda:0"}}},
	{GPUMAP_OK, "two rows", {OMPI, SLURM}, {{"--gpus", "none"}, {"--threads", "2"}}},
	{GPUMAP_OK,
	 "two nodes",
	 {SLURM, "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NODELIST=n[1-2]", "MASTER_PORT=x"},
	 {{"--world-size", "auto"}}},
	{GPUMAP_EINPUT, "refused", {OMPI, "CUDA_VISIBLE_DEVICES=0"}, {{"--device", "cuda:%l"}}},
	{GPUMAP_EINPUT,
	 "no rank",
	 {"KUBERNETES_SERVICE_HOST=h", "RANK=0", "WORLD_SIZE=2"},
	 {{NULL, NULL}}},
};

static int make(struct exec *exec, const struct exec_options *options)
{
	int r = gpumap_report_new(&exec->report);

	exec->options = options;
	return r == GPUMAP_OK ? exec_make(exec) : r;
}

START_TEST(every_allocation_fails)
{
	char *program[] = {(char[]){"prog"}, (char[]){"%r"}, NULL};
	struct exec_options options = {.plan.program = program};

	environ = (char **)(uintptr_t)cases[_i].environment;
	for (size_t i = 0; cases[_i].settings[i][0]; i++)
		ck_assert(profile_option(&options.plan.profile, cases[_i].settings[i][0],
					 cases[_i].settings[i][1]));
	for (size_t n = 0;; n++) {
		struct exec exec = {.options = NULL};
		bool failed;
		int r;

		allocations_fail_at(n);
		r = make(&exec, &options);
		failed = n && allocations_failed();
		allocations_fail_at(0);
		exec_free(&exec);
		gpumap_report_free(exec.report);
		ck_assert_msg((n && r == GPUMAP_ENOMEM) || r == cases[_i].whole, "%s: %zu gives %d",
			      cases[_i].name, n, r);
		if (n && !failed)
			break;
		ck_assert_uint_lt(n, 100000);
	}
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("exec-nomem");
	tests = tcase_create("exec-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, (int)ARRAY_SIZE(cases));
	return unit_run(suite);
}
