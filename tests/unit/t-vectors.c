/* SPDX-License-Identifier: MIT */
/*
 * The behaviour that others documented, saw or built, for each dialect and layer: the
 * tables of tests/vectors, in the columns and terms of resolve.tsv.
 */
#include <stdio.h>

#include "machines.h"
#include "tsv.h"
#include "unit.h"

static const char *const names[] = {"driver", "torch", "nvitop",    "rocr",
				    "hip",    "views", "launchers", "devices"};
static struct tsv tables[ARRAY_SIZE(names)];

static void check_row(const char *table, const char *const *c)
{
	char *terms = strdup(c[4]), *rest = terms, *term, *got, name[400];
	gpumap_mapping *mapping = NULL;
	gpumap_report *report;
	int code;

	snprintf(name, sizeof(name), "%s.tsv '%s' (%s, %s)", table, c[0], c[5], c[6]);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	code = resolve_statements(&mapping, c[1], c[2], c[3], report);
	while ((term = strsep(&rest, " "))) {
		bool holds = term_holds(term, code, mapping, report, &got);

		ck_assert_msg(holds, "%s: not %s but '%s'", name, term, got);
		free(got);
	}
	free(terms);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
}

START_TEST(every_row)
{
	const struct tsv *table = &tables[_i];

	for (size_t i = 0; i < table->count; i++)
		check_row(names[_i], table->rows[i].column);
}
END_TEST

/* A table that was cut or emptied would pass unseen. */
START_TEST(tables_are_whole)
{
	size_t total = 0;

	for (size_t t = 0; t < ARRAY_SIZE(names); t++) {
		for (size_t i = 0; i < tables[t].count; i++) {
			const char *const *c = tables[t].rows[i].column;

			ck_assert_msg(*c[0] && *c[3] && *c[4] && *c[5], "%s.tsv, row %zu", names[t],
				      i + 1);
			ck_assert_msg(streq(c[6], "documented") || streq(c[6], "observed") ||
					      streq(c[6], "implemented") || streq(c[6], "verified"),
				      "%s.tsv '%s': evidence '%s'", names[t], c[0], c[6]);
		}
		ck_assert_msg(tables[t].count >= 6, "%s.tsv has %zu rows", names[t],
			      tables[t].count);
		total += tables[t].count;
	}
	ck_assert_uint_ge(total, 180);
}
END_TEST

/* Every row that gpumap does not follow has a reason. */
START_TEST(differences_have_reasons)
{
	struct tsv differs = tsv_read("vectors/differs.tsv");

	ck_assert_uint_ge(differs.count, 20);
	for (size_t i = 0; i < differs.count; i++)
		ck_assert_msg(*differs.rows[i].column[5], "differs.tsv '%s'",
			      differs.rows[i].column[0]);
	tsv_free(&differs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vectors");
	TCase *tests = tcase_create("vectors");
	char file[64];
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(file, sizeof(file), "vectors/%s.tsv", names[i]);
		tables[i] = tsv_read(file);
	}
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_row, 0, (int)ARRAY_SIZE(names));
	tcase_add_test(tests, tables_are_whole);
	tcase_add_test(tests, differences_have_reasons);
	status = unit_run(suite);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		tsv_free(&tables[i]);
	return status;
}
