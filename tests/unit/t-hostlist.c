/* SPDX-License-Identifier: MIT */
/* Node lists, hostfiles and counts; tests/cli/hostlist.test asks Slurm the same. */
#include <stdio.h>

#include "report/report.h"
#include "strbuf.h"
#include "text/hostlist.h"
#include "unit.h"

#define BAD GPUMAP_EINPUT
#define MANY GPUMAP_ELIMIT

/* For an error: its place in the text, and words of it or of its remedy. */
static const struct {
	const char *text, *hosts;
	int code, column;
} lists[] = {
	{"n1", "n1", 0, 0},
	{"n[1-3]", "n1 n2 n3", 0, 0},
	{"n[08-11,20]-ib[0,1],gpu1",
	 "n08-ib0 n08-ib1 n09-ib0 n09-ib1 n10-ib0 n10-ib1 n11-ib0 n11-ib1 n20-ib0 n20-ib1 gpu1", 0,
	 0},
	{"n[9-10]", "n9 n10", 0, 0},
	{"n[09-10]", "n09 n10", 0, 0},
	{"n[099-101]", "n099 n100 n101", 0, 0},
	{"n[1-010]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10", 0, 0},
	{"n[3,1,2,1]", "n3 n1 n2 n1", 0, 0},
	{"b,a,b", "b a b", 0, 0},
	{"n01,n1", "n01 n1", 0, 0},
	{"pg08u25a,pg08u33a", "pg08u25a pg08u33a", 0, 0},
	{"r[1-2]n[3-4]", "r1n3 r1n4 r2n3 r2n4", 0, 0},
	{"n[1-2][3-4]", "n13 n14 n23 n24", 0, 0},
	{"a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6", 0, 0},
	{"[1-3]", "1 2 3", 0, 0},
	{"n5n[1-2]5n[3]", "n5n15n3 n5n25n3", 0, 0},
	{",a,,b c\n", "a b c", 0, 0},
	{"a-b.c_d", "a-b.c_d", 0, 0},
	{"n[00000000000000000001]", "n00000000000000000001", 0, 0},
	{"n[999999999999999999]", "n999999999999999999", 0, 0},
	{"n[0]", "n0", 0, 0},
	{"", "names no host", BAD, -1},
	{" , ", "names no host", BAD, -1},
	{"n[1-2]-bmc", "Slurm refuses: '-bmc'", BAD, 7},
	{"a,n[1-2]b", "Slurm refuses: 'b'", BAD, 9},
	{"n[1-3", "not closed: '[1-3'", BAD, 2},
	{"n[1,", "no number in a bracket", BAD, 5},
	{"n[", "no number in a bracket", BAD, 3},
	{"n[]", "no number in a bracket: ']'", BAD, 3},
	{"n[a-b]", "no number in a bracket: 'a-b]'", BAD, 3},
	{"n[-1]", "no number in a bracket", BAD, 3},
	{"n[1-]", "no number in a bracket: ']'", BAD, 5},
	{"n[1-2-3]", "no number in a bracket: '-3]'", BAD, 6},
	{"n[1,,2]", "no number in a bracket", BAD, 5},
	{"n[1,2,]", "no number in a bracket", BAD, 7},
	{"n[ 1]", "no number in a bracket", BAD, 3},
	{"n[1 ,2]", "no number in a bracket", BAD, 4},
	{"n[+1]", "no number in a bracket", BAD, 3},
	{"n[0x1]", "no number in a bracket: 'x1]'", BAD, 4},
	{"n[[1]]", "no number in a bracket", BAD, 3},
	{"n[3-1]", "ends before it begins", BAD, 3},
	{"n1]", "not opened: ']'", BAD, 3},
	{"n[1]]", "not opened", BAD, 5},
	{"-rf", "looks like an option: '-rf'", BAD, 1},
	{"a,-oProxyCommand=x", "looks like an option", BAD, 3},
	{"n1;reboot", "not allowed in a host name: ';reboot'", BAD, 3},
	{"$(id)", "not allowed in a host name", BAD, 1},
	{"n*", "not allowed in a host name", BAD, 2},
	{"n\001", "not allowed in a host name: '\\x01'", BAD, 2},
	{"n[9999999999999999999]", "too large a number", BAD, 3},
	{"a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]", "a1b1c1d1e1f1g1h1", 0, 0},
	{"a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]", "more than eight", BAD, 34},
	{"n[1-100001]", "more than 100000 hosts", MANY, -1},
	{"n[1-1000][1-101]", "more than 100000 hosts", MANY, -1},
	{"n[0-999999999999999999]", "more than 100000 hosts", MANY, -1},
	{"n[1-99999][1-99999][1-99999][1-99999]", "more than 100000 hosts", MANY, -1},
};

static char *hosts_text(const struct hostlist *list)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < list->count; i++) {
		strbuf_printf(&buf, "%s%s", i ? " " : "", list->hosts[i].name);
		if (list->hosts[i].slots >= 0)
			strbuf_printf(&buf, ":%lld", (long long)list->hosts[i].slots);
	}
	return strbuf_take(&buf);
}

/* One finding of the code, with the words and the place, and a remedy. */
static void check_error(const char *name, const gpumap_report *report, const char *words, int line,
			int column)
{
	const gpumap_finding *f = gpumap_report_get(report, 0);

	ROW_EQ_INT(name, gpumap_report_count(report), 1);
	ck_assert_msg(strstr(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), words), "%s: '%s'", name,
		      gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	ck_assert_msg(gpumap_finding_str(f, GPUMAP_FINDING_FIX) != NULL, "%s", name);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN), "here");
	ROW_EQ_INT(name, gpumap_finding_int(f, GPUMAP_FINDING_COLUMN), column);
	ROW_EQ_INT(name, gpumap_finding_int(f, GPUMAP_FINDING_LINE), line);
}

START_TEST(node_lists)
{
	const char *name = lists[_i].text;
	struct hostlist list = {.count = 77};
	gpumap_report *report;
	char *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, hostlist_parse(&list, span_of(name), "here", report), lists[_i].code);
	if (lists[_i].code) {
		ROW_EQ_INT(name, list.count, 77);
		check_error(name, report, lists[_i].hosts, -1, lists[_i].column);
	} else {
		text = hosts_text(&list);
		ROW_EQ_STR(name, text, lists[_i].hosts);
		ROW_EQ_INT(name, gpumap_report_count(report), 0);
		free(text);
		hostlist_free(&list);
	}
	gpumap_report_free(report);
}
END_TEST

static const struct {
	const char *text, *hosts;
	int code, line; /* without an error: that of the remark, 0: there is none */
} files[] = {
	{"n1 slots=4\nn2 slots=8\n", "n1:4 n2:8", 0, 0},
	{"n1\nn2", "n1 n2", 0, 0},
	{"n1:4\nn2:8\n", "n1:4 n2:8", 0, 0},
	{"# all\n\n  n1\tslots=4 # two cards broken\r\n#n3\nn2 slots=2 max_slots=4\n", "n1:4 n2:2",
	 0, 0},
	{"n1 slots=0\n", "no host of the hostfile has slots", BAD, 1},
	{"n0\nn1 slots=0\nn2:0\nn3 slots=1\n", "n0 n3:1", 0, 2},
	{"n1:0\nn1:2\n", "n1:2", 0, 1},
	{"n1:0 slots=2\n", "given twice", BAD, 1},
	{"n1 slots=2\nn1 slots=2\n", "n1:2 n1:2", 0, 0},
	/* PBS_NODEFILE has a line for each slot. */
	{"n1\nn1\nn2\nn2\n", "n1:2 n2:2", 0, 0},
	{"n2\nn1\nn2\n", "n2:2 n1:1", 0, 0},
	{"n1 slots=4\nn2\nn2\nn3 max_slots=8\n", "n1:4 n2:2 n3:1", 0, 0},
	{"n1 slots=4\nn1\nn1\n", "n1:4 n1:2", 0, 0},
	{"n1\nn1 slots=4\n", "n1 n1:4", 0, 0},
	{"worker-0.site_a slots=8", "worker-0.site_a:8", 0, 0},
	{"", "names no host", BAD, -1},
	{"# nothing\n", "names no host", BAD, -1},
	{"n1\nn2 slots=4x\n", "no number of slots: 'slots=4x'", BAD, 2},
	{"n1 slots=-1", "no number of slots", BAD, 1},
	{"n1 slots=\n", "no number of slots: 'slots='", BAD, 1},
	{"n1 slots=99999999999", "no number of slots", BAD, 1},
	{"n1:x", "no number of slots: 'n1:x'", BAD, 1},
	{"n1:", "no number of slots", BAD, 1},
	{"n1:4 slots=4", "given twice", BAD, 1},
	{"n1 slots=4 slots=4", "given twice", BAD, 1},
	{"n1 slot=4", "without meaning in a hostfile: 'slot=4'", BAD, 1},
	{"n[1-2] slots=4", "no name of a host: 'n[1-2]'", BAD, 1},
	{"slots=4", "no name of a host", BAD, 1},
	{"-oProxyCommand=x", "no name of a host", BAD, 1},
	{"\n\n:4", "no name of a host: ':4'", BAD, 3},
	{"n1;id", "no name of a host", BAD, 1},
};

START_TEST(host_files)
{
	const char *name = files[_i].text;
	struct hostlist list = {.count = 77};
	gpumap_report *report;
	char *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, hostfile_parse(&list, span_of(name), "here", report), files[_i].code);
	if (files[_i].code) {
		ROW_EQ_INT(name, list.count, 77);
		check_error(name, report, files[_i].hosts, files[_i].line, -1);
	} else {
		text = hosts_text(&list);
		ROW_EQ_STR(name, text, files[_i].hosts);
		ROW_EQ_INT(name, gpumap_report_count(report), files[_i].line > 0);
		if (files[_i].line)
			ROW_EQ_INT(name,
				   gpumap_finding_int(gpumap_report_get(report, 0),
						      GPUMAP_FINDING_LINE),
				   files[_i].line);
		free(text);
		hostlist_free(&list);
	}
	gpumap_report_free(report);
}
END_TEST

static const struct {
	const char *text, *values;
	int code;
} counts[] = {
	{"4", "4", 0},
	{"2(x3),1", "2 2 2 1", 0},
	{"8(x2)", "8 8", 0},
	{"3,1", "3 1", 0},
	{"0,2(x1)", "0 2", 0},
	{"", NULL, BAD},
	{"2(x3", NULL, BAD},
	{"2(3)", NULL, BAD},
	{"2(x)", NULL, BAD},
	{"2(x0)", NULL, BAD},
	{"2(x-1)", NULL, BAD},
	{"(x2)", NULL, BAD},
	{"2(x3),", NULL, BAD},
	{"2,,1", NULL, BAD},
	{"two", NULL, BAD},
	{"-1", NULL, BAD},
	{" 2", NULL, BAD},
	{"2(x3)1", NULL, BAD},
	{"1(x100001)", NULL, MANY},
	{"1(x99999),1(x2)", NULL, MANY},
	{"99999999999999999999", NULL, BAD},
};

START_TEST(counts_per_node)
{
	const char *name = counts[_i].text;
	struct strbuf buf = {0};
	int64_t *values = NULL;
	size_t count = 77;
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, counts_parse(&values, &count, span_of(name), "here", report),
		   counts[_i].code);
	ROW_EQ_INT(name, gpumap_report_count(report), counts[_i].code ? 1 : 0);
	if (counts[_i].code) {
		ROW_EQ_INT(name, count, 77);
		ck_assert_ptr_null(values);
	}
	if (counts[_i].code == BAD)
		ROW_EQ_INT(name, counts_at(span_of(name), 0), -1);
	for (size_t i = 0; values && i < count; i++) {
		strbuf_printf(&buf, "%s%lld", i ? " " : "", (long long)values[i]);
		ROW_EQ_INT(name, counts_at(span_of(name), (int64_t)i), values[i]);
	}
	if (values) {
		ROW_EQ_STR(name, buf.text, counts[_i].values);
		ROW_EQ_INT(name, counts_at(span_of(name), (int64_t)count), -1);
		ROW_EQ_INT(name, counts_at(span_of(name), -1), -1);
	}
	free(values);
	strbuf_free(&buf);
	gpumap_report_free(report);
}
END_TEST

/* The whole name that is wrong is reported. */
START_TEST(check)
{
	static const struct {
		const char *text;
		bool patterns;
		const char *wrong; /* NULL: nothing */
	} rows[] = {
		{"n[08-11,20]-ib[0,1],gpu1", false, NULL},
		{"tux[00-03],gpu*", true, NULL},
		{"*", true, NULL},
		{"?[1-2]", true, NULL},
		{"a,gpu*,b", false, "gpu*"},
		{"a,n[1-2]-bmc b", true, "n[1-2]-bmc"},
		{"a,n[1-2]*", true, "n[1-2]*"},
		{"a,n[1,x],b", true, "n[1,x]"},
		{"a,n[1,2,b", true, "n[1,2,b"},
		{"a n[3-1] b", true, "n[3-1]"},
		{"n]", true, "n]"},
		{"a,-b,c", true, "-b"},
		{"n[*]", true, "n[*]"},
		{"n[1][1][1][1][1][1][1][1][1]", true, "n[1][1][1][1][1][1][1][1][1]"},
		{"n[1-999999]", true, "n[1-999999]"},
		{"", true, ""},
		{" ,", true, " ,"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name = rows[i].text;
		struct span wrong;
		bool good = hostlist_check(span_of(name), rows[i].patterns, &wrong);

		ROW_EQ_INT(name, good, !rows[i].wrong);
		if (!good)
			ck_assert_msg(span_is(wrong, rows[i].wrong), "%s: '%.*s'", name,
				      (int)wrong.length, wrong.text);
	}
}
END_TEST

/* Long names and as many hosts as there may be. */
START_TEST(limits)
{
	static char text[8 * HOSTLIST_MAX];
	struct hostlist list;
	size_t at = 0;

	ck_assert_int_eq(hostlist_parse(&list, span_of("n[1-100000]"), NULL, NULL), GPUMAP_OK);
	ck_assert_uint_eq(list.count, HOSTLIST_MAX);
	ck_assert_str_eq(list.hosts[99999].name, "n100000");
	hostlist_free(&list);
	for (size_t i = 0; i < HOSTLIST_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "n%zu,", i);
	ck_assert_int_eq(hostlist_parse(&list, span_of(text), NULL, NULL), GPUMAP_OK);
	ck_assert_uint_eq(list.count, HOSTLIST_MAX);
	hostlist_free(&list);
	memset(text, 'n', sizeof(text));
	ck_assert_int_eq(hostlist_parse(&list, (struct span){text, 253}, NULL, NULL), GPUMAP_OK);
	hostlist_free(&list);
	ck_assert_int_eq(hostlist_parse(&list, (struct span){text, 254}, NULL, NULL), BAD);
	ck_assert_int_eq(hostfile_parse(&list, (struct span){text, 254}, NULL, NULL), BAD);
	memcpy(text + 250, "[1-2]", 5);
	ck_assert_int_eq(hostlist_parse(&list, (struct span){text, 255}, NULL, NULL), GPUMAP_OK);
	hostlist_free(&list);
	memcpy(text + 250, "[1-1000]", 8);
	ck_assert_int_eq(hostlist_parse(&list, (struct span){text, 258}, NULL, NULL), BAD);
	ck_assert_int_eq(hostlist_parse(&list, (struct span){NULL, 0}, NULL, NULL), BAD);
	ck_assert_int_eq(hostfile_parse(&list, (struct span){NULL, 0}, NULL, NULL), BAD);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostlist");
	TCase *tests = tcase_create("hostlist");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, node_lists, 0, (int)ARRAY_SIZE(lists));
	tcase_add_loop_test(tests, host_files, 0, (int)ARRAY_SIZE(files));
	tcase_add_loop_test(tests, counts_per_node, 0, (int)ARRAY_SIZE(counts));
	tcase_add_test(tests, check);
	tcase_add_test(tests, limits);
	return unit_run(suite);
}
