/* SPDX-License-Identifier: MIT */
/* Every allocation of a plan fails once. */
#include <stdio.h>

#include "failing_malloc.h"
#include "plans.h"
#include "text.h"
#include "unit.h"

#define BOX \
	"GPU-a0 @40 n=1 c=0-7 l=1;GPU-b0 @10 n=0 c=4-11 l=0,2;GPU-c0 @20 c=0-3 l=1 m=MIG-1 " \
	"m=MIG-2"

static const struct {
	const char *name, *hosts, *limits, *settings;
} cases[] = {
	{"plain", "a=8xH100", "", "device=cuda:%l"},
	{"three kinds of hosts", "a*2=2 + b=" BOX " + c=3", "", "device=cuda:%l|order=nvlink"},
	{"named", "b=" BOX, "", "gpus=name:\"*\",0,pci:0000:10:00.0|device=cuda:0"},
	{"bounded", "b=" BOX, "scheduler:GPU-a0,GPU-b0 + user:GPU-b0", "device=cuda:%l"},
	{"outside", "b=" BOX, "scheduler:GPU-a0", "gpus=GPU-b0"},
	{"numbers and modulo", "a=4 + b=3", "", "ids=index|share=rotate|device=cuda:modulo"},
	{"dp", "a=8xH100", "", "mode=dp|world_size=2|share=isolate|device_ids=0,1"},
	{"without GPUs", "a=0 + b=0", "", "world_size=5"},
};

START_TEST(every_allocation_fails)
{
	static const int core[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
	static const int node[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
	const struct cpu_topology topology = {12, core, node};
	const struct plan_cpus cpus = {"0-10", &topology};
	const char *name = cases[_i].name;
	struct scene scene;
	int whole;

	scene_set(&scene, cases[_i].hosts, cases[_i].limits, cases[_i].settings);
	for (size_t i = 0; i < scene.input.host_count; i++)
		scene.hosts[i].cpus = &cpus;
	scene_plan(&scene);
	whole = scene.code;
	for (size_t n = 1;; n++) {
		gpumap_plan *plan = NULL;
		gpumap_report *report;
		bool failed, reported;
		size_t count;
		int r;

		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		allocations_fail_at(n);
		r = plan_make(&plan, &scene.input, report);
		allocations_fail_at(0);
		failed = allocations_failed();
		count = gpumap_report_count(report);
		reported = count && streq(gpumap_finding_str(gpumap_report_get(report, count - 1),
							     GPUMAP_FINDING_ID),
					  "GM001");
		ck_assert_msg(r == GPUMAP_ENOMEM || r == whole, "%s: %zu gives %d", name, n, r);
		ck_assert_msg((r == GPUMAP_OK) == (plan != NULL), "%s: %zu", name, n);
		/* Without memory for a finding the plan stands, and the report states that. */
		ck_assert_msg(!failed || reported, "%s: %zu is not reported", name, n);
		gpumap_plan_free(plan);
		gpumap_report_free(report);
		if (!failed)
			break;
		ck_assert_uint_lt(n, 100000);
	}
	scene_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("plan-nomem");
	tests = tcase_create("plan-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, (int)ARRAY_SIZE(cases));
	return unit_run(suite);
}
