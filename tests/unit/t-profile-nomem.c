/* SPDX-License-Identifier: MIT */
/* Every allocation on a profile's way fails once. */
#include "failing_malloc.h"
#include "profiles.h"

static const char *const texts[] = {
	"[gpumap]\ndefault=b\ninclude=more.ini\n[profile b]\ninherit=a\ngpus=${G},3\nprogram=p\n"
	"workdir=\"${HOME:-x}\"\n[program p]\ncommand=run '${A}' ${G} \"b c\"\n"
	"[sweep s]\nprofile=b\nG=1,2\n[env b]\nX=${HOME:-/}\n[unset b]\nY=\n"
	"[override o]\nprofile=*\nwhen_host=a[1-2]\nids=index\n[trainer t]\nmodel=x\n"
	"== more.ini\n[profile a]\nshare=isolate\n",
	"[profile a]\ninherit=b\nbad=1\ngpus=1,x\n[profile b]\ninherit=a\n[what]\n",
};

static const char *const envp[] = {"G=1", "GPUMAP_IDS=index", "GPUMAP_GUPS=1", NULL};

static int run(const char *text, char **out, gpumap_report **report)
{
	gpumap_profile *p = NULL;
	char *json = NULL;
	int r = gpumap_report_new(report);

	if (r == GPUMAP_OK)
		r = load_files(&p, text, NULL, *report);
	if (r == GPUMAP_OK)
		r = gpumap_profile_set_environ(p, envp, *report);
	if (r == GPUMAP_OK)
		r = gpumap_profile_set(p, "share", "rotate", "--share", *report);
	if (r == GPUMAP_OK)
		r = gpumap_profile_set_sweep(p, "s", 1, *report);
	if (r == GPUMAP_OK)
		r = gpumap_profile_check(p, *report);
	if (r == GPUMAP_OK)
		r = gpumap_profile_format(&json, p, GPUMAP_FORMAT_JSON, 0, NULL);
	if (r == GPUMAP_OK)
		r = gpumap_profile_format(out, p, GPUMAP_FORMAT_INI, GPUMAP_FORMAT_FLAG_ORIGINS,
					  NULL);
	free(json);
	gpumap_profile_free(p);
	return r;
}

START_TEST(every_allocation_fails)
{
	char *whole = NULL;
	gpumap_report *report;
	int want = run(texts[_i], &whole, &report);

	gpumap_report_free(report);
	for (size_t n = 1; n < 100000; n++) {
		char *text = NULL;
		bool failed;
		int r;

		report = NULL;
		allocations_fail_at(n);
		r = run(texts[_i], &text, &report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == want || r == GPUMAP_ENOMEM, "%zu gives %d", n, r);
		if (r == GPUMAP_OK)
			ck_assert_str_eq(text, whole);
		free(text);
		gpumap_report_free(report);
		if (!failed)
			break;
	}
	free(whole);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("profile-nomem");
	tests = tcase_create("profile-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, ARRAY_SIZE(texts));
	return unit_run(suite);
}
