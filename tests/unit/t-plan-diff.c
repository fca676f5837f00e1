/* SPDX-License-Identifier: MIT */
/* The differences that are reported between two plans, and that there are no others. */
#include <stdio.h>

#include "failing_malloc.h"
#include "jobs.h"
#include "profiles.h"
#include "unit.h"

#define P(more) \
	"[profile p]\nmaster_port=1\n" more "program=t\n[program t]\ndevice=cuda:%l\ncommand=t\n"

static const struct {
	const char *name, *files, *hosts, *other_files, *other_hosts;
	const char *text; /* NULL: they are the same */
} rows[] = {
	{"the same", P(""), "a=2", P(""), "a=2", NULL},
	{"the same by other words", P("gpus=0,1\n"), "a=2", P("gpus=all\n"), "a=2",
	 "setting gpus: 0,1 -> all\n"},
	{"GPUs", P(""), "a=2", P(""), "a=3",
	 "plan world_size: 2 -> 3\nnode 0 ranks: 2 -> 3\nnode 0 gpus: 2 -> 3\n"
	 "ranks 0-1 CUDA_VISIBLE_DEVICES: 0,1 -> 0,1,2\nrank 2: only in the second plan\n"},
	{"models", P(""), "a=2xA100", P(""), "a=2xH100",
	 "node 0 gpu: GPU 0, A100 -> GPU 0, H100\n"},
	{"names of hosts", P("master_addr=m\n"), "a[1-3]=1", P("master_addr=m\n"), "b1,a[2-3]=1",
	 "node 0 name: a1 -> b1\n"},
	{"a host more", P("master_addr=m\n"), "a=1", P("master_addr=m\n"), "a,b=1",
	 "plan world_size: 1 -> 2\nplan hosts: 1 -> 2\nnode 1 name: (none) -> b\n"
	 "rank 1: only in the second plan\n"},
	{"a host less", P("master_addr=m\n"), "a,b=2", P("master_addr=m\n"), "a=2",
	 "plan world_size: 4 -> 2\nplan hosts: 2 -> 1\nnode 1 name: b -> (none)\n"
	 "ranks 2-3: only in the first plan\n"},
	{"environment", P("") "[env p]\nA=1\nB=2\nC=\n[unset p]\nD=\n", "a=1",
	 P("") "[env p]\nB=3\nC=\nE=%r\n[unset p]\nA=\n", "a=1",
	 "unset D: yes -> (none)\nenvironment A: 1 -> (none)\nunset A: (none) -> yes\nenvironment "
	 "B: 2 -> 3\n"
	 "environment E: (none) -> %r\n"},
	{"a program", P(""), "a=1",
	 "[profile p]\nmaster_port=1\nprogram=t\n[program t]\ndevice=cuda:%l\ncommand=t 'a b'\n",
	 "a=1", "setting command: t -> t 'a b'\nprogram: t -> t 'a b'\n"},
	{"single ranks", P("ranks=4\n"), "a=4",
	 P("ranks=4\n") "[override x]\nprofile=p\nwhen_rank=0,2-3\nworkdir=/w\n", "a=4",
	 "ranks 0,2-3 workdir: . -> /w\n"},
	{"a rank that is as all are", P("workdir=/v\n"), "a=2",
	 P("workdir=/w\n") "[override x]\nprofile=p\nwhen_rank=1\nworkdir=/v\n", "a=2",
	 "setting workdir: /v -> /w\n"},
	{"a plan that cannot be started", P(""), "a=2", P("share=isolate\n"), "a=2",
	 "plan can be started: yes -> no\nsetting share: list -> isolate\n"
	 "rank 0 CUDA_VISIBLE_DEVICES: 0,1 -> 0\nrank 1 cuda:N: 1 -> (none)\n"
	 "rank 1 CUDA_VISIBLE_DEVICES: 0,1 -> 1\n"},
	{"every other rank", P(""), "a[1-2]=4", P("gpus=0,2,1,3\n"), "a[1-2]=4",
	 "setting gpus: inherit -> 0,2,1,3\nranks 0-7 CUDA_VISIBLE_DEVICES: 0,1,2,3 -> "
	 "0,2,1,3\nranks 1,5 GPU: 1 -> 2\nranks 2,6 GPU: 2 -> 1\n"},
};

static char *diff_text(const char *name, const gpumap_plan *a, const gpumap_plan *b,
		       enum gpumap_format format, int *differs)
{
	char *text = NULL;

	ROW_EQ_INT(name, gpumap_plan_diff(&text, differs, a, b, format, 0, NULL), GPUMAP_OK);
	return text;
}

START_TEST(differences)
{
	const char *name = rows[_i].name, *want = rows[_i].text;
	struct job_scene one, other;
	int differs = -1;
	char *text;

	job_set(&one, rows[_i].files, rows[_i].hosts, "");
	job_set(&other, rows[_i].other_files, rows[_i].other_hosts, "");
	job_plan(&one);
	job_plan(&other);
	text = diff_text(name, one.plan, other.plan, GPUMAP_FORMAT_TEXT, &differs);
	ROW_EQ_STR(name, text, want ? want : "The plans are the same.\n");
	ROW_EQ_INT(name, differs, want != NULL);
	free(text);
	text = diff_text(name, other.plan, one.plan, GPUMAP_FORMAT_JSON, &differs);
	ROW_EQ_INT(name, differs, want != NULL);
	ck_assert_msg(strstr(text, want ? "\"same\":false" : "\"same\":true"), "%s: %s", name,
		      text);
	free(text);
	text = diff_text(name, other.plan, other.plan, GPUMAP_FORMAT_TEXT, &differs);
	ROW_EQ_STR(name, text, "The plans are the same.\n");
	free(text);
	job_free(&one);
	job_free(&other);
}
END_TEST

START_TEST(no_plan)
{
	int differs = -1;
	char *text = diff_text("none", NULL, NULL, GPUMAP_FORMAT_JSON, &differs);

	ck_assert_msg(strstr(text, "\"same\":null,\"differences\":[]"), "%s", text);
	ck_assert_int_eq(differs, 0);
	free(text);
	text = diff_text("none", NULL, NULL, GPUMAP_FORMAT_TEXT, &differs);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(every_allocation_fails)
{
	static const enum gpumap_format formats[] = {GPUMAP_FORMAT_TEXT, GPUMAP_FORMAT_JSON};
	struct job_scene one, other;
	bool failed = true;
	char *whole;
	int differs;

	if (!allocations_can_fail())
		return;
	job_set(&one, P("ranks=2\n"), "a=2", "");
	job_set(&other, P("ranks=4\n") "[env p]\nA=1\n", "b=4", "");
	job_plan(&one);
	job_plan(&other);
	whole = diff_text("whole", one.plan, other.plan, formats[_i], &differs);
	for (size_t n = 1; failed; n++) {
		char *text = NULL;
		int r;

		allocations_fail_at(n);
		r = gpumap_plan_diff(&text, &differs, one.plan, other.plan, formats[_i], 0, NULL);
		allocations_fail_at(0);
		failed = allocations_failed();
		/* jansson does without some of its memory. */
		ck_assert_msg(r == (text ? GPUMAP_OK : GPUMAP_ENOMEM), "%zu gives %d", n, r);
		ck_assert_msg(failed || text, "%zu", n);
		if (text)
			ck_assert_str_eq(text, whole);
		free(text);
	}
	free(whole);
	job_free(&one);
	job_free(&other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-diff");
	TCase *tests = tcase_create("plan-diff");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, differences, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, no_plan);
	tcase_add_loop_test(tests, every_allocation_fails, 0, 2);
	return unit_run(suite);
}
