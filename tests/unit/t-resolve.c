/* SPDX-License-Identifier: MIT */
/*
 * gpumap_resolve on the rows of tests/vectors/resolve.tsv. A row's terms, with a ! in
 * front for "not", are
 *
 *	visible= replicas=	entries, between commas: 3, 0:1 (MIG), GPU-.. (number not
 *				known), 0|1 (undecidable, its candidates)
 *	chosen= master=		one entry, or none
 *	certainty=		of the chosen device, else of cuda:0
 *	ended=ENTRY:TEXT:RULE	or not
 *	batch= answered= mode= code=
 *	rule= loser=SOURCE:VALUE finding=GM016 finding-rule=V2	one of several
 *	text=			words of a finding or step, _ for blanks (in loser= too)
 */
#include <stdio.h>

#include "machines.h"
#include "tsv.h"
#include "unit.h"

static struct tsv table;

static void check_terms(const char *name, const char *terms, int code,
			const gpumap_mapping *mapping, const gpumap_report *report)
{
	char *copy = strdup(terms), *rest = copy, *term, *got;

	while ((term = strsep(&rest, " "))) {
		bool holds = term_holds(term, code, mapping, report, &got);

		ck_assert_msg(holds, "%s: not %s but '%s'", name, term, got);
		free(got);
	}
	free(copy);
}

START_TEST(rows)
{
	const char *const *c = table.rows[_i].column;
	gpumap_mapping *mapping = NULL;
	gpumap_report *report;
	int code;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	code = resolve_statements(&mapping, c[1], c[2], c[3], report);
	ck_assert_msg((code == GPUMAP_OK) == (mapping != NULL), "%s", c[0]);
	if (!strstr(c[4], "code="))
		ROW_EQ_INT(c[0], code, GPUMAP_OK);
	check_terms(c[0], c[4], code, mapping, report);
	/* "no" and an error go together. */
	if (code == GPUMAP_OK)
		ROW_EQ_INT(c[0], gpumap_report_worst(report) == GPUMAP_SEVERITY_ERROR,
			   gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) == 0);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("resolve");
	TCase *tests = tcase_create("resolve");
	int status;

	table = tsv_read("vectors/resolve.tsv");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, rows, 0, (int)table.count);
	status = unit_run(suite);
	tsv_free(&table);
	return status;
}
