/* SPDX-License-Identifier: MIT */
/* The general description of a finding, looked up by its id or read from a reported finding. */
#include "report/report.h"
#include "unit.h"

START_TEST(all)
{
	const gpumap_finding *finding;
	size_t i = 0;

	for (; (finding = gpumap_finding_get(i)); i++) {
		const char *id = gpumap_finding_str(finding, GPUMAP_FINDING_ID);
		const char *rule = gpumap_finding_str(finding, GPUMAP_FINDING_RULE);

		ROW_EQ_INT(id, gpumap_finding_find(id) == finding, true);
		ROW_EQ_STR(id, gpumap_finding_str(finding, GPUMAP_FINDING_TEXT),
			   gpumap_finding_str(finding, GPUMAP_FINDING_MEANING));
		ROW_EQ_INT(id, !rule || gpumap_rule_find(rule), true);
		ROW_EQ_STR(id, gpumap_finding_str(finding, GPUMAP_FINDING_FIX), NULL);
		ROW_EQ_STR(id, gpumap_finding_str(finding, GPUMAP_FINDING_ORIGIN), NULL);
		ROW_EQ_INT(id, gpumap_finding_int(finding, GPUMAP_FINDING_LINE), -1);
	}
	ck_assert_uint_eq(i, FINDING_COUNT);
}
END_TEST

static const struct {
	const char *id, *want;
} lookups[] = {
	{"GM019", "GM019"}, {"gm019", "GM019"}, {"Gm009", "GM009"}, {"GM999", NULL}, {"GM19", NULL},
	{"GM0190", NULL},   {"", NULL},         {"GM", NULL},       {"V5", NULL},
};

START_TEST(look_up)
{
	ROW_EQ_STR(lookups[_i].id,
		   gpumap_finding_str(gpumap_finding_find(lookups[_i].id), GPUMAP_FINDING_ID),
		   lookups[_i].want);
}
END_TEST

START_TEST(reported)
{
	static const enum gpumap_finding_str_attr same[] = {
		GPUMAP_FINDING_ID,      GPUMAP_FINDING_MEANING, GPUMAP_FINDING_CAUSE,
		GPUMAP_FINDING_EXAMPLE, GPUMAP_FINDING_REMEDY,
	};
	const gpumap_finding *known = gpumap_finding_find("GM009"), *got;
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	report_add(report, FINDING_INVALID_ORDINAL, ABOUT(.fix = "the fix"), "cuda:7");
	got = gpumap_report_get(report, 0);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		ck_assert_ptr_nonnull(gpumap_finding_str(got, same[i]));
		ck_assert_ptr_eq(gpumap_finding_str(got, same[i]),
				 gpumap_finding_str(known, same[i]));
	}
	/* The text and the fix are those of this case. */
	ck_assert_str_eq(gpumap_finding_str(got, GPUMAP_FINDING_TEXT), "cuda:7");
	ck_assert_str_eq(gpumap_finding_str(got, GPUMAP_FINDING_FIX), "the fix");
	ck_assert_ptr_null(gpumap_finding_str(got, GPUMAP_FINDING_RULE));
	gpumap_report_free(report);
}
END_TEST

START_TEST(nothing)
{
	ck_assert_ptr_null(gpumap_finding_get(FINDING_COUNT));
	ck_assert_ptr_null(gpumap_finding_str(NULL, GPUMAP_FINDING_CAUSE));
	ck_assert_ptr_null(
		gpumap_finding_str(gpumap_finding_get(0), (enum gpumap_finding_str_attr)1000));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("findings");
	TCase *tests = tcase_create("findings");

	tcase_add_test(tests, all);
	tcase_add_loop_test(tests, look_up, 0, ARRAY_SIZE(lookups));
	tcase_add_test(tests, reported);
	tcase_add_test(tests, nothing);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
