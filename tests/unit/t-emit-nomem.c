/* SPDX-License-Identifier: MIT */
/* Every allocation of an emitter fails once. */
#include <check.h>
#include <string.h>

#include "failing_malloc.h"
#include "gpumap.h"
#include "unit.h"

static const struct {
	const char *name, *hosts, *profile;
} cases[] = {
	{"one host", "a",
	 "[profile p]\nprogram=q\nworkdir=/w\n[program q]\ncommand=run 'a b' -c\n"},
	{"two hosts", "a,b",
	 "[profile p]\nprogram=q\nlog_dir=l\ntimeout=1h\n[program q]\ncommand=python3 -u x.py\n"
	 "[env p]\nA=\"b c\"\n[unset p]\nC=\n"},
	{"by rank", "b,a", "[profile p]\nprogram=q\n[program q]\ncommand=run %r\n"},
	{"isolated", "a", "[profile p]\nshare=isolate\nprogram=q\n[program q]\ncommand=run\n"},
	{"no program", "a", "[profile p]\n"},
};

static gpumap_plan *plan_of(size_t i)
{
	gpumap_profile *profile;
	gpumap_inventory *machines[2];
	gpumap_hosts *hosts;
	gpumap_plan *plan;

	ck_assert_int_eq(gpumap_inventory_open(&machines[0], "3", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_open(&machines[1], "2", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_parse(&profile, cases[i].profile, strlen(cases[i].profile),
					      "p.ini", "p", NULL),
			 GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_new(&hosts), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_parse_list(hosts, cases[i].hosts, "test", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set(profile, "hosts", cases[i].hosts, "test", NULL),
			 GPUMAP_OK);
	for (size_t h = 0; h < gpumap_hosts_count(hosts); h++)
		ck_assert_int_eq(gpumap_hosts_set_inventory(hosts, h, machines[h]), GPUMAP_OK);
	ck_assert_int_eq(gpumap_plan_make(&plan, profile, hosts, NULL), GPUMAP_OK);
	gpumap_hosts_free(hosts);
	gpumap_profile_free(profile);
	gpumap_inventory_free(machines[0]);
	gpumap_inventory_free(machines[1]);
	return plan;
}

static int emit(char **text, const gpumap_plan *plan, const char *target, bool json,
		gpumap_report *report)
{
	int emitted;

	return gpumap_plan_emit(text, &emitted, plan, target,
				json ? GPUMAP_FORMAT_JSON : GPUMAP_FORMAT_TEXT, 0, report);
}

/* The text with all memory; NULL: there is none. The caller frees it. */
static char *whole_of(const gpumap_plan *plan, const char *target, bool json)
{
	gpumap_report *report;
	char *text = NULL;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(emit(&text, plan, target, json, report), GPUMAP_OK);
	gpumap_report_free(report);
	return text;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void fail_each(const gpumap_plan *plan, const char *target, bool json)
{
	char *whole = whole_of(plan, target, json);

	for (size_t n = 1;; n++) {
		char untouched[] = "", *text = untouched;
		gpumap_report *report;
		bool failed;
		int r;

		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		allocations_fail_at(n);
		r = emit(&text, plan, target, json, report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "%s: %zu gives %d", target, n,
			      r);
		/* What is lacking, if only a remark, is reported. */
		ck_assert_msg((r == GPUMAP_OK && same(text, whole)) ||
				      gpumap_report_worst(report) == GPUMAP_SEVERITY_ERROR,
			      "%s: %zu is not reported", target, n);
		if (r != GPUMAP_OK)
			ck_assert_ptr_eq(text, untouched);
		else
			free(text);
		gpumap_report_free(report);
		if (!failed)
			break;
		ck_assert_uint_lt(n, 100000);
	}
	free(whole);
}

static size_t target_count(void)
{
	size_t count = 0;

	while (gpumap_target_get(count))
		count++;
	return count;
}

START_TEST(every_allocation_fails)
{
	gpumap_plan *plan = plan_of((size_t)_i / target_count());
	const char *target = gpumap_target_str(gpumap_target_get((size_t)_i % target_count()),
					       GPUMAP_TARGET_NAME);

	fail_each(plan, target, false);
	fail_each(plan, target, true);
	gpumap_plan_free(plan);
}
END_TEST

START_TEST(targets_have_texts)
{
	for (size_t i = 0; i < target_count(); i++) {
		const gpumap_target *target = gpumap_target_get(i);

		ck_assert_ptr_nonnull(gpumap_target_str(target, GPUMAP_TARGET_NAME));
		ck_assert_ptr_nonnull(gpumap_target_str(target, GPUMAP_TARGET_SUMMARY));
	}
	ck_assert_uint_ne(target_count(), 0);
	ck_assert_ptr_null(gpumap_target_get(SIZE_MAX));
	ck_assert_ptr_null(gpumap_target_str(NULL, GPUMAP_TARGET_NAME));
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("emit-nomem");
	tests = tcase_create("emit-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0,
			    (int)(sizeof(cases) / sizeof(cases[0]) * target_count()));
	tcase_add_test(tests, targets_have_texts);
	return unit_run(suite);
}
