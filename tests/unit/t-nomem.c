/* SPDX-License-Identifier: MIT */
/* Every allocation of an answer fails once; and how many there are. */
#include <stdio.h>

#include "failing_malloc.h"
#include "machines.h"
#include "unit.h"

/* The whole way from statements to text; nothing may be left behind. */
struct run {
	gpumap_request *request;
	gpumap_report *report;
	gpumap_mapping *mapping;
	char *text;
};

static void run_free(struct run *run)
{
	free(run->text);
	gpumap_mapping_free(run->mapping);
	gpumap_request_free(run->request);
	gpumap_report_free(run->report);
}

/* Enough numbers that the devices of the list need blocks of memory of their own. */
#define TEN(n) #n "0," #n "1," #n "2," #n "3," #n "4," #n "5," #n "6," #n "7," #n "8," #n "9,"
#define FIFTY(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4)

static const struct {
	const char *machine;
	const char *keys[6]; /* name, value, ... */
} cases[] = {
	{"-", {"visible", "2,3,4,5", "device", "1"}},
	{"-", {"visible", "GPU-a,GPU-b", "device", "5"}},
	{"8", {"prefix", "0,1,2,1", "in_code", "1gpu,0-2,GPU-7", "launcher", "flux:3"}},
	{"GPU-a0=X,GPU-b0=Y,GPU-c0=Z", {"mode", "dp", "batch", "10", "prefix", "0, GPU-a"}},
	{"GPU-a0[MIG-a@1.0;MIG-b@1.1],GPU-b0", {"container", "0,GPU-b0", "mode", "mp"}},
	{"8", {"dialect", "hip", "prefix", "ROCR_VISIBLE_DEVICES=1,2,3", "set_device", "2"}},
	{"-",
	 {"dialect", "hip", "prefix", "ROCR_VISIBLE_DEVICES=" FIFTY(1) TEN(2) TEN(3) "7", "device",
	  "2"}},
	{"partial 1:GPU-a0,4:GPU-b0", {"mps_server", "1,4", "launcher", "dask", "local_rank", "1"}},
	{"fastest=1,0 GPU-a0=X,GPU-b0=Y",
	 {"launcher", "deepspeed", "prefix", "1,0", "mode", "ddp"}},
	{"8", {"mode", "ddp", "set_device", "modulo", "in_code", "%l,%r"}},
	{"8", {"mode", "ddp", "local_rank", "0", "device", "cuda:%n"}},
};

static const char *const environment[] = {"CUDA_VISIBLE_DEVICES=0,1",
					  "SLURM_JOB_ID=7",
					  "CUDA_VISABLE_DEVICES=1",
					  "GPUMAP_DRIVER=535",
					  "NVIDIA_VISIBLE_DEVICES=all",
					  "RANK=3",
					  "WORLD_SIZE=4",
					  "LOCAL_RANK=1",
					  "SLURM_STEP_ID=0",
					  "SLURM_PROCID=1",
					  "SLURM_STEP_NUM_TASKS=2",
					  "SLURM_LOCALID=0",
					  NULL};

static int run(struct run *run, const gpumap_inventory *inventory, const char *const *keys,
	       enum gpumap_format format)
{
	int r = gpumap_report_new(&run->report);

	if (r == GPUMAP_OK)
		r = gpumap_request_new(&run->request);
	for (size_t i = 0; r == GPUMAP_OK && i < 6 && keys[i]; i += 2)
		r = gpumap_request_set(run->request, keys[i], keys[i + 1], "here", run->report);
	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(run->request, environment, run->report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&run->mapping, run->request, inventory, run->report);
	if (r == GPUMAP_OK)
		r = gpumap_mapping_format(&run->text, run->mapping, format, 0, run->report);
	return r;
}

static bool reports_nomem(const gpumap_report *report)
{
	size_t count = gpumap_report_count(report);

	return count &&
	       streq(gpumap_finding_str(gpumap_report_get(report, count - 1), GPUMAP_FINDING_ID),
		     "GM001");
}

static void fail_each(const char *name, const char *const *keys, const gpumap_inventory *inventory,
		      enum gpumap_format format)
{
	struct run whole = {0};

	ROW_EQ_INT(name, run(&whole, inventory, keys, format), GPUMAP_OK);
	for (size_t n = 1;; n++) {
		struct run cut = {0};
		bool failed;
		int r;

		allocations_fail_at(n);
		r = run(&cut, inventory, keys, format);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "%s: %zu gives %d", name, n, r);
		/* Without memory for a finding the answer stands, and the report states that. */
		if (r == GPUMAP_OK && failed && !reports_nomem(cut.report))
			ROW_EQ_STR(name, cut.text, whole.text);
		if (r == GPUMAP_ENOMEM && cut.request && !cut.mapping)
			ck_assert_msg(reports_nomem(cut.report), "%s: %zu is not reported", name,
				      n);
		run_free(&cut);
		if (!failed)
			break;
		ck_assert_uint_lt(n, 100000);
	}
	run_free(&whole);
}

START_TEST(every_allocation_fails)
{
	gpumap_inventory *inventory = machine(cases[_i].machine);

	fail_each("text", cases[_i].keys, inventory, GPUMAP_FORMAT_TEXT);
	fail_each("json", cases[_i].keys, inventory, GPUMAP_FORMAT_JSON);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(few_allocations)
{
	static const char *const statements[] = {"visible=2,3,4,5|device=1", "",
						 "mode=dp|device_ids=2,3|device=2|batch=10",
						 "visible=GPU-5,GPU-3|set_device=1"};
	const char uuids[] =
		"GPU-0a=H,GPU-1a=H,GPU-2a=H,GPU-3a=H,GPU-4a=H,GPU-5a=H,GPU-6a=H,GPU-7a=H";
	gpumap_inventory *inventory = machine(uuids);

	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		gpumap_mapping *mapping = NULL;
		gpumap_request *request;
		size_t count;
		int r;

		ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
		ck_assert_int_eq(set_statements(request, statements[i], NULL), GPUMAP_OK);
		allocations_fail_at(0);
		r = gpumap_resolve(&mapping, request, inventory, NULL);
		count = allocations_count();
		ROW_EQ_INT(statements[i], r, GPUMAP_OK);
		ck_assert_msg(count <= 20, "%s: %zu allocations", statements[i], count);
		gpumap_mapping_free(mapping);
		gpumap_request_free(request);
	}
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("nomem");
	tests = tcase_create("nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tests, few_allocations);
	return unit_run(suite);
}
