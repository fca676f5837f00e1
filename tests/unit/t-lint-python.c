/* SPDX-License-Identifier: MIT */
/* The findings of Python files, by tests/vectors/lint-python.tsv. */
#include "lint/launchers.h"
#include "lint/python.h"
#include "report/report.h"
#include "strbuf.h"
#include "tsv.h"
#include "unit.h"

static void check_row(const struct tsv_row *row)
{
	const char *want = row->column[0], *launcher = row->column[1], *what = row->column[2];
	char *copy = strdup(row->column[3]), *text;
	struct python_start start = {.launcher = *launcher ? launcher : NULL, .passes = -1};
	gpumap_inventory *machine = NULL;
	gpumap_report *report;
	struct strbuf got = {0};

	ck_assert_ptr_nonnull(copy);
	if (*what)
		ck_assert_int_eq(gpumap_inventory_open(&machine, what, NULL), GPUMAP_OK);
	start.inventory = machine;
	if (lint_launcher_of(launcher))
		start.passes = lint_launcher_of(launcher)->passes;
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	lint_python(tsv_unescape(copy), "a.py", &start, report);
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN), "a.py");
		strbuf_printf(&got, "%s%s:%lld", i ? " " : "",
			      gpumap_finding_str(f, GPUMAP_FINDING_ID),
			      (long long)gpumap_finding_int(f, GPUMAP_FINDING_LINE));
	}
	text = strbuf_take(&got);
	ROW_EQ_STR(row->column[3], *text ? text : "none", want);
	free(text);
	free(copy);
	gpumap_report_free(report);
	gpumap_inventory_free(machine);
}

static struct tsv table;

START_TEST(vectors)
{
	check_row(&table.rows[_i]);
}
END_TEST

/* Every prefix of a file is a file too: nothing is read behind its end. */
START_TEST(prefixes)
{
	static const char whole[] =
		"import os, torch\nimport torch.distributed as dist\n"
		"from torch.nn.parallel import DistributedDataParallel as DDP\n"
		"x = f'{a[\"b\"]:{c}}' '''d''' \"e\\\n\"\nif a:\n\tfor i in (1,\n2):\n"
		"\t\tdef f(a, *b, c: int = 1, **d): os.environ.update({'RANK': '1'})\n"
		"m = DDP(m.cuda(1).to(device='cuda:0'), device_ids=[0, 1])\n"
		"del os.environ['RANK']; import a.b as c, d\n";

	for (size_t n = 0; n < sizeof(whole); n++) {
		char *copy = malloc(n + !n);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, whole, n);
		lint_python((struct span){copy, n}, NULL, NULL, NULL);
		free(copy);
	}
}
END_TEST

/* Where the finding is, and its words. */
START_TEST(words)
{
	static const char code[] = "import os, torch\nif True:\n    torch.cuda.set_device(1)\n"
				   "    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n";
	const gpumap_finding *f;
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	lint_python(span_of(code), "a.py", NULL, report);
	f = gpumap_report_get(report, gpumap_report_count(report) - 1);
	ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
			 "CUDA_VISIBLE_DEVICES=1 has no effect: torch.cuda.set_device() on line 3 "
			 "initialises CUDA before");
	ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_RULE), "S4");
	ck_assert_int_eq(gpumap_finding_int(f, GPUMAP_FINDING_COLUMN), 16);
	gpumap_report_free(report);
}
END_TEST

/* Statements of as many tokens as there is room for, or a few less: nothing behind them is read. */
START_TEST(full)
{
	char text[1024] = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = a";

	for (int i = 0; i < 100; i++) {
		size_t n = strlen(text);

		strcpy(text + n, ".b");
		lint_python((struct span){text, n + 2}, "a.py", NULL, NULL);
		strcpy(text + n, " + a");
	}
}
END_TEST

/* Deep nesting, long statements and many of them: the time grows linearly with the text. */
START_TEST(large)
{
	static const struct {
		const char *piece, *name;
	} pieces[] = {
		{"(", "brackets"},
		{"f'{", "fields"},
		{"f'{'{", "nested fields"},
		{"x.cuda(", "calls"},
		{"if a:\n", "heads"},
		{"'''", "quotes"},
		{"a = b.cuda(1)\n", "observations"},
		{"import a as b\n", "imports"},
		{"[0,", "lists"},
		{"x(a)(", "chains"},
		{"-", "signs"},
		{"a.", "dots"},
		{"def f(a,", "functions"},
		{" if a else ", "choices"},
		{"\\\n", "joins"},
		{"set_device(", "devices"},
		{"a=", "assignments"},
	};
	size_t n = strlen(pieces[_i].piece), size = SANITIZED ? 400000 : 4u << 20;
	char *text = malloc(size);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < size; i++)
		text[i] = pieces[_i].piece[i % n];
	lint_python((struct span){text, size}, "a.py", NULL, NULL);
	free(text);
}
END_TEST

/* More places than any program has: the cost of one does not depend on how many there are. */
START_TEST(crowded)
{
	static const char *const lines[] = {"p.parse_args()\n", "DDP(m)\n", "m.cuda(501)\n"};
	struct python_start start = {.launcher = "launch", .passes = 1};
	struct strbuf buf = {0};
	gpumap_report *report;

	strbuf_puts(&buf, "import os, torch\nfrom torch.nn.parallel import "
			  "DistributedDataParallel as DDP\n"
			  "os.environ['CUDA_VISIBLE_DEVICES'] = '0");
	for (int i = 1; i < 500; i++)
		strbuf_printf(&buf, ",%d", i);
	strbuf_puts(&buf, "'\n");
	for (int i = 0; i < 70000; i++)
		strbuf_puts(&buf, lines[_i]);
	ck_assert(!buf.failed);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	lint_python((struct span){buf.text, buf.length}, "a.py", &start, report);
	ck_assert(finding_is(gpumap_report_get(report, gpumap_report_count(report) - 1),
			     FINDING_LIMIT));
	gpumap_report_free(report);
	strbuf_free(&buf);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-python");
	TCase *tests = tcase_create("lint-python");
	TCase *many = tcase_create("lint-python-crowded");
	int failed;

	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, many);
	tcase_add_loop_test(many, crowded, 0, 3);
	table = tsv_read("vectors/lint-python.tsv");
	tcase_add_loop_test(tests, vectors, 0, (int)table.count);
	tcase_add_test(tests, prefixes);
	tcase_add_test(tests, words);
	tcase_add_test(tests, full);
	tcase_add_loop_test(tests, large, 0, 17);
	failed = unit_run(suite);
	tsv_free(&table);
	return failed;
}
