/* SPDX-License-Identifier: MIT */
/* Every allocation on a plan's way fails once: making, writing, reading, starting. */
#include <jansson.h>

#include "failing_malloc.h"
#include "jobs.h"
#include "profiles.h"
#include "unit.h"

#define FILES \
	"[profile p]\nprogram=t\nworkdir=/w/%r\n[program t]\ndevice=cuda:%l\n" \
	"command=train %r 'b c'\n[env p]\nA=%r %h\n[unset p]\nHOME=\n" \
	"[override o]\nprofile=p\nwhen_host=b\nranks=1\n[override " \
	"r]\nprofile=p\nwhen_rank=1\nlog_dir=/l\n" \
	"pass_local_rank=yes\n"

enum { JSON_CASES = 2 }; /* the first of them */

/* `free_gpus`: what gpus = free:2 of its one host stands for. */
static const struct plan_case {
	const char *files, *hosts, *free_gpus;
	enum gpumap_format format;
} cases[] = {
	{FILES, "a,b,c[1-2]", NULL, GPUMAP_FORMAT_TEXT},
	{FILES "[override f]\nprofile=p\ngpus=free:2\n", "a", "0,1", GPUMAP_FORMAT_TEXT},
	{FILES, "a,b,c[1-2]", NULL, GPUMAP_FORMAT_JSON},
	{FILES "[override f]\nprofile=p\ngpus=free:2\n", "a", "0,1", GPUMAP_FORMAT_JSON},
};

static int forget(const char *name, const char *value, void *data)
{
	return 0;
}

static int start(gpumap_plan *plan, const char *const *envp)
{
	char **arguments = NULL, *value = NULL;
	int r = gpumap_plan_set_run(plan, "run", 4000);

	if (r == GPUMAP_OK)
		r = gpumap_plan_variable_each(plan, 1, envp, forget, NULL);
	if (r == GPUMAP_OK)
		r = gpumap_plan_expand_setting(&value, plan, "workdir", 1, NULL, NULL);
	free(value);
	if (r == GPUMAP_OK)
		r = gpumap_plan_rank_arguments(&arguments, plan, 1, NULL);
	for (char **a = arguments; a && *a; a++)
		free(*a);
	free(arguments);
	return r;
}

/* The hosts' own allocations are part of it. */
static int make(gpumap_plan **plan, const struct job_scene *scene, const struct plan_case *c,
		gpumap_report *report)
{
	static const int core[] = {0, 0, 1, 1}, node[] = {0, 0, 1, 1};
	gpumap_hosts *hosts = NULL;
	int r = gpumap_hosts_new(&hosts);

	if (r == GPUMAP_OK)
		r = gpumap_hosts_parse_list(hosts, c->hosts, "test", report);
	for (size_t i = 0; r == GPUMAP_OK && i < gpumap_hosts_count(hosts); i++)
		r = gpumap_hosts_set_inventory(hosts, i, scene->inventories[0]);
	if (r == GPUMAP_OK)
		r = gpumap_hosts_set_environ(hosts, 0, scene->environ, report);
	if (r == GPUMAP_OK)
		r = gpumap_hosts_set_cpus(hosts, 0, "0-3", core, node, 4);
	if (r == GPUMAP_OK)
		r = gpumap_hosts_set_free(hosts, 0, c->free_gpus);
	if (r == GPUMAP_OK)
		r = gpumap_plan_make(plan, scene->profile, hosts, report);
	gpumap_hosts_free(hosts);
	return r;
}

static int run(const struct job_scene *scene, const struct plan_case *c, char **text)
{
	gpumap_plan *plan = NULL;
	gpumap_report *report = NULL;
	int r = gpumap_report_new(&report);

	if (r == GPUMAP_OK)
		r = make(&plan, scene, c, report);
	if (r == GPUMAP_OK)
		r = gpumap_plan_format(text, plan, c->format, GPUMAP_FORMAT_FLAG_ORIGINS, report);
	if (r == GPUMAP_OK)
		r = start(plan, scene->environ);
	gpumap_plan_free(plan);
	gpumap_report_free(report);
	return r;
}

START_TEST(every_allocation_fails)
{
	const struct plan_case *c = &cases[_i];
	struct job_scene scene;
	char *whole = NULL;

	job_set(&scene, c->files, "a=2xH100",
		"SLURM_JOB_ID=4;SLURM_JOB_GPUS=0,1;CUDA_VISIBLE_DEVICES=1,0;RANK=4");
	ck_assert_int_eq(run(&scene, c, &whole), GPUMAP_OK);
	for (size_t n = 1;; n++) {
		char *text = NULL;
		bool failed;
		int r;

		allocations_fail_at(n);
		r = run(&scene, c, &text);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "%zu gives %d", n, r);
		/* A finding without memory is reported as lost, and the plan stands. */
		ck_assert_msg(failed || r == GPUMAP_OK, "%zu", n);
		if (!failed)
			ck_assert_str_eq(text, whole);
		free(text);
		if (!failed)
			break;
		ck_assert_uint_lt(n, 100000);
	}
	free(whole);
	job_free(&scene);
}
END_TEST

/* The tree is there: jansson's reader may end the process without memory. */
START_TEST(every_allocation_of_reading_fails)
{
	struct job_scene scene;
	char *whole = NULL;
	json_t *tree;
	bool failed = true;

	job_set(&scene, cases[_i].files, "a=2xH100", "SLURM_JOB_ID=4");
	ck_assert_int_eq(run(&scene, &cases[_i], &whole), GPUMAP_OK);
	tree = json_loads(whole, 0, NULL);
	ck_assert_ptr_nonnull(tree);
	for (size_t n = 1; failed; n++) {
		gpumap_plan *plan = NULL;
		int r;

		allocations_fail_at(n);
		r = job_read(&plan, tree, "again", scene.report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == (failed ? GPUMAP_ENOMEM : GPUMAP_OK), "%zu gives %d", n, r);
		ck_assert_msg(failed == !plan, "%zu", n);
		gpumap_plan_free(plan);
		ck_assert_uint_lt(n, 100000);
	}
	json_decref(tree);
	free(whole);
	job_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("plan-job-nomem");
	tests = tcase_create("plan-job-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, (int)ARRAY_SIZE(cases));
	tcase_add_loop_test(tests, every_allocation_of_reading_fails, JSON_CASES,
			    (int)ARRAY_SIZE(cases));
	return unit_run(suite);
}
