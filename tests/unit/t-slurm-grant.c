/* SPDX-License-Identifier: MIT */
/* Rule L3: visible lists that are certainly not Slurm's. */
#include "request/slurm_grant.h"
#include "strbuf.h"
#include "unit.h"

static const struct {
	const char *name, *list, *step, *job;
	bool lacks;
} rows[] = {
	{"other numbers", "2,3", NULL, "4,5", true},
	{"some other numbers", "4,6", NULL, "4,5", true},
	{"more numbers", "4,5,6,7", NULL, "4,5", true},
	{"more from 0", "0,1,2", NULL, "4,5", true},
	{"neither of the two", "6", "4", "4,5", true},
	{"numbers of the step count", "1", "4", "4,5", true},
	{"outside a range", "8", NULL, "4-7", true},
	{"outside ranges", "3", NULL, "0-1,6-7", false},
	{"outside ranges and their count", "5", NULL, "0-1,6-7", true},
	{"blanks", " 2 , 3 ", NULL, "4, 5", true},
	{"all before the end", "2,-1,4", NULL, "4,5", true},
	{"Slurm's", "4,5", NULL, "4,5", false},
	{"in another order", "5,4", NULL, "4,5", false},
	{"a part", "5", NULL, "4,5", false},
	{"of the job, not of the step", "5", "4", "4,5", false},
	{"of the step, not of the job", "4", "4", "0,1", false},
	{"from 0", "0,1", NULL, "4,5", false},
	{"a part from 0", "1", NULL, "4,5", false},
	{"in a range", "4,7", NULL, "4-7", false},
	{"up to the end", "4,-1,2", NULL, "4,5", false},
	{"nothing from Slurm", "2,3", NULL, NULL, false},
	{"nobody's", "", NULL, "4,5", false},
	{"hidden", "-1", NULL, "4,5", false},
	{"no device files", "NoDevFiles", NULL, "4,5", false},
	{"a range of CUDA is none", "2-3", NULL, "4,5", false},
	{"text", "a,b", NULL, "4,5", false},
	{"an empty entry", "2,,3", NULL, "4,5", false},
	{"a huge number", "99999999999999999999", NULL, "4,5", false},
	{"text of Slurm", "2,3", NULL, "gpu:a100:2", false},
	{"a range that goes down", "2,3", NULL, "5-4", false},
	{"a range without an end", "2,3", NULL, "4-", false},
	{"a huge range", "2,3", NULL, "0-2147483647", false},
	{"a range past all numbers", "2,3", NULL, "0-99999999999", false},
	{"an empty entry of Slurm", "2,3", NULL, "4,", false},
	{"a malformed step beside a job", "2,3", "x", "4,5", false},
	{"UUIDs of other GPUs", "GPU-aa,GPU-bb", NULL, "GPU-cc,GPU-dd", true},
	{"UUIDs", "GPU-aa", NULL, "GPU-aa,GPU-bb", false},
	{"a short UUID", "GPU-a", NULL, "GPU-aabb", false},
	{"a UUID in capitals", "GPU-AA", NULL, "GPU-aa", false},
	{"a UUID for numbers", "GPU-aa", NULL, "4,5", false},
	{"a number for UUIDs", "2", NULL, "GPU-aa,GPU-bb", false},
	{"numbers and UUIDs", "2,GPU-aa", NULL, "4,5", false},
	{"another instance", "MIG-aa", NULL, "MIG-bb", true},
	{"an instance", "MIG-aa", NULL, "MIG-aa,MIG-bb", false},
	{"an instance of a GPU", "MIG-aa", NULL, "GPU-bb", false},
	{"an instance in the old spelling", "MIG-GPU-aa/1/0", NULL, "MIG-bb", false},
};

START_TEST(lists)
{
	const struct slurm_grant grant = {rows[_i].step, rows[_i].job};
	gpumap_report *report = NULL;

	ROW_EQ_INT(rows[_i].name, slurm_grant_lacks(&grant, rows[_i].list), rows[_i].lacks);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(rows[_i].name, slurm_grant_check(&grant, "LIST", rows[_i].list, NULL, report),
		   rows[_i].lacks);
	ROW_EQ_INT(rows[_i].name, (int)gpumap_report_count(report), rows[_i].lacks);
	gpumap_report_free(report);
}
END_TEST

/* A list that is longer than any node has GPUs is not compared. */
START_TEST(a_long_list)
{
	struct strbuf list = {0};
	struct slurm_grant grant = {NULL, "4,5"};

	for (int i = 0; i < 100000; i++)
		strbuf_puts(&list, i ? ",7" : "7");
	ck_assert(!list.failed);
	ck_assert(!slurm_grant_lacks(&grant, list.text));
	grant.job = list.text;
	ck_assert(!slurm_grant_lacks(&grant, "2,3"));
	strbuf_free(&list);
}
END_TEST

START_TEST(the_environment)
{
	static const char *const envp[] = {"SLURM_STEP_GPUS=", "SLURM_JOB_GPUS=1,2", NULL};
	const struct slurm_grant grant = slurm_grant_of(envp);

	ck_assert_ptr_null(grant.step);
	ck_assert_str_eq(grant.job, "1,2");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slurm-grant");
	TCase *tests = tcase_create("slurm-grant");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, lists, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, a_long_list);
	tcase_add_test(tests, the_environment);
	return unit_run(suite);
}
