/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "strbuf.h"
#include "text/inifile.h"
#include "unit.h"

/* What a text becomes: [section]line, key=value line:column, and !line:column error. */
struct record {
	struct strbuf text;
	int refuse; /* the code for sections named "refused" and keys named "refused" */
};

static int record_section(void *data, struct span name, int line)
{
	struct record *record = data;

	strbuf_printf(&record->text, "[%.*s]%d ", (int)name.length, name.text, line);
	return span_is(name, "refused") ? record->refuse : GPUMAP_OK;
}

static int record_entry(void *data, const struct inifile_entry *entry)
{
	struct record *record = data;

	strbuf_printf(&record->text, "%.*s=<", (int)entry->key.length, entry->key.text);
	inifile_decode(&record->text, entry->value);
	strbuf_printf(&record->text, ">%d:%d ", entry->line, entry->column);
	return span_is(entry->key, "refused") ? record->refuse : GPUMAP_OK;
}

static const struct inifile_handler recorder = {record_section, record_entry};

static int read_recorded(char **ret, struct span text, int refuse)
{
	struct record record = {.refuse = refuse};
	gpumap_report *report;
	int code;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	code = inifile_read(text, "t.ini", &recorder, &record, report);
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN), "t.ini");
		strbuf_printf(&record.text, "!%d:%d %s ",
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN),
			      gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
	gpumap_report_free(report);
	*ret = strbuf_take(&record.text);
	ck_assert_ptr_nonnull(*ret);
	return code;
}

#define T(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static const struct {
	const char *name;
	struct span text;
	const char *want;
} rows[] = {
	{"empty", T(""), ""},
	{"blank lines", T("\n \n\t\r\n"), ""},
	{"comments", T("# a\n; b\n  # c\n\t; d = 1"), ""},
	{"plain", T("[a]\nk = v\n"), "[a]1 k=<v>2:5 "},
	{"no last newline", T("[a]\nk=v"), "[a]1 k=<v>2:3 "},
	{"crlf", T("[a]\r\nk = v\r\n"), "[a]1 k=<v>2:5 "},
	{"byte order mark", T("\xef\xbb\xbf[a]\nk = v\n"), "[a]1 k=<v>2:5 "},
	{"indentation", T("  [a]\n    k = v\n\tl = w\n"), "[a]1 k=<v>2:9 l=<w>3:6 "},
	{"empty value", T("[a]\nk =\nl = # c\nm=\n"), "[a]1 k=<>2:4 l=<>3:5 m=<>4:3 "},
	{"comments after blanks", T("[a] ; c\nk = v # c\nl = w ; c\nm = x\t;c\n"),
	 "[a]1 k=<v>2:5 l=<w>3:5 m=<x>4:5 "},
	{"no comments", T("[a]\nk = v#c\nl = w;c\nm=#f\n"),
	 "[a]1 k=<v#c>2:5 l=<w;c>3:5 m=<#f>4:3 "},
	{"double quotes", T("[a]\nk = \"  a ; # = \"  # c\n"), "[a]1 k=<  a ; # = >2:5 "},
	{"single quotes", T("[a]\nk = ' a ; \\n \"'\n"), "[a]1 k=< a ; \\n \">2:5 "},
	{"escapes", T("[a]\nk = \"\\\"\\\\\\n\\t\\r\\x41\"\n"), "[a]1 k=<\"\\\n\t\rA>2:5 "},
	{"quotes inside", T("[a]\nk = name:\"a, b\" -x='c ; d' ;e\n"),
	 "[a]1 k=<name:a, b -x=c ; d>2:5 "},
	{"apostrophe", T("[a]\nk = Bob's ; c\n"), "[a]1 k=<Bob's>2:5 "},
	{"backslash outside quotes", T("[a]\nk = C:\\new\n"), "[a]1 k=<C:\\new>2:5 "},
	{"equals in the value", T("[a]\nk = a=b\n"), "[a]1 k=<a=b>2:5 "},
	{"colon in the value", T("[a]\nk = 0000:3b:00.0\n"), "[a]1 k=<0000:3b:00.0>2:5 "},
	{"section name", T("[ profile tux[08-11] a;b # ]c] # d\n"),
	 "!1:29 text after a section's name: "
	 "'c] # d' "},
	{"matching bracket", T("[ on tux[08-11] ; # = \"x ]; c\nk=v\n"),
	 "[on tux[08-11] ; # = \"x]1 k=<v>2:3 "},
	{"same section again", T("[a]\nk=1\n[b]\nk=2\n[a]\nk=3\n"),
	 "[a]1 k=<1>2:3 [b]3 k=<2>4:3 [a]5 k=<3>6:3 "},
	{"utf-8 columns", T("[\xe5\x8d\xa1]\nk = \"\xe5\x8d\xa1\" \xc3\xa9\x07\n"),
	 "[\xe5\x8d\xa1]1 !2:10 a control character (\\x07) "},
	{"no equals", T("[a]\n  key: value\nk=v\n"), "[a]1 k=<v>3:3 !2:3 no '=' in 'key: value' "},
	{"no key", T("[a]\n = v\n"), "[a]1 !2:2 no key before '=' "},
	{"blank in a key", T("[a]\nfoo bar = v\n"), "[a]1 !2:4 invalid key 'foo bar' "},
	{"quoted key", T("[a]\n\"k\" = v\n"), "[a]1 !2:1 invalid key '\"k\"' "},
	{"key without section", T("k=v\nl=w\n[a]\nm=x\n"),
	 "[a]3 m=<x>4:3 !1:1 a key before the first section: 'k' "},
	{"open section", T("[a\nk=v\n[b]\nl=w\n"),
	 "[b]3 l=<w>4:3 !1:3 no ']' after the section's name: '[a' "},
	{"open inner bracket", T("[a[0]\n"), "!1:6 no ']' after the section's name: '[a[0]' "},
	{"empty section", T("[ ]\nk=v\n"), "!1:1 a section without a name: '[ ]' "},
	{"section and key", T("[a] k = v\n"), "!1:5 text after a section's name: 'k = v' "},
	{"open quote", T("[a]\nk = \"v\nl = w\n"),
	 "[a]1 l=<w>3:5 !2:5 a quote is not closed: '\"v' "},
	{"open single quote", T("[a]\nk = 'v # c\n"), "[a]1 !2:5 a quote is not closed: ''v # c' "},
	{"escaped end", T("[a]\nk = \"v\\\"\n"), "[a]1 !2:5 a quote is not closed: '\"v\\\"' "},
	{"bad escape", T("[a]\nk = \"a\\q\"\n"), "[a]1 !2:7 no such escape: '\\q\"' "},
	{"escaped nul", T("[a]\nk = \"\\x00\"\n"), "[a]1 !2:6 no such escape: '\\x00\"' "},
	{"cut escape", T("[a]\nk = \"\\x4"), "[a]1 !2:6 no such escape: '\\x4' "},
	{"cut backslash", T("[a]\nk = \"\\"), "[a]1 !2:6 no such escape: '\\' "},
	{"nul", T("[a]\nk = a\0b\nl = w\n"), "[a]1 l=<w>3:5 !2:6 a NUL byte (\\x00) "},
	{"nul in a comment", T("# \0\n"), "!1:3 a NUL byte (\\x00) "},
	{"escape character", T("[a]\nk = \x1b[0m\n"), "[a]1 !2:5 a control character (\\x1b) "},
	{"old Mac lines", T("[a]\rk=v\r"), "!1:4 a control character (\\x0d) "},
	{"latin-1", T("[a]\nk = \xe9\n"), "[a]1 !2:5 not UTF-8: the byte \\xe9 "},
	{"utf-16", T("\xff\xfe[\0a\0]\0\n\0"),
	 "!1:1 not UTF-8: the byte \\xff !2:1 a NUL byte (\\x00) "},
	{"all errors together", T("[a]\nx y = 1\nk\nl = \"\nm = w\n"),
	 "[a]1 m=<w>5:5 !2:2 invalid key 'x y' !3:1 no '=' in 'k' !4:5 a quote is not closed: "
	 "'\"' "},
	{"refused section", T("[refused]\nk = v\nbad\n[b]\nl = w\n"),
	 "[refused]1 [b]4 l=<w>5:5 !3:1 no '=' in 'bad' "},
	{"refused key", T("[a]\nrefused = v\nl = w\n"), "[a]1 refused=<v>2:11 l=<w>3:5 "},
};

/* inih's settings, where this build of it has them as variables. */
static void set_flag(const char *name, bool value)
{
	bool *flag = dlsym(RTLD_DEFAULT, name);

	if (flag)
		*flag = value;
}

static void set_number(const char *name, int value)
{
	int *number = dlsym(RTLD_DEFAULT, name);

	if (number)
		*number = value;
}

enum { DEFAULTS, HOSTILE, HEAP, SETTINGS };

static void choose(int setting)
{
	if (setting == HOSTILE) {
		set_flag("ini_allow_multiline", false);
		set_flag("ini_allow_inline_comments", false);
		set_flag("ini_allow_bom", false);
		set_flag("ini_stop_on_first_error", true);
		set_flag("ini_allow_no_value", true);
		set_number("ini_max_line", 24);
	}
	if (setting == HEAP) {
		set_flag("ini_use_stack", false);
		set_flag("ini_allow_realloc", true);
		set_number("ini_initial_alloc", 24);
		set_number("ini_max_line", 24);
	}
}

/* Each test is a process of its own, so that a setting is gone after it. */
static void check_row(int row)
{
	char *got;
	int code = read_recorded(&got, rows[row].text, GPUMAP_EINPUT);
	bool bad = strchr(rows[row].want, '!') || strstr(rows[row].want, "refused");

	ROW_EQ_STR(rows[row].name, got, rows[row].want);
	ROW_EQ_INT(rows[row].name, code, bad ? GPUMAP_EINPUT : GPUMAP_OK);
	free(got);
}

START_TEST(texts)
{
	check_row(_i);
}
END_TEST

START_TEST(texts_under_other_settings)
{
	choose(_i);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row((int)i);
}
END_TEST

static char *repeat(const char *before, char c, size_t n, const char *after)
{
	size_t skip = strlen(before);
	char *text = malloc(skip + n + strlen(after) + 1);

	ck_assert_ptr_nonnull(text);
	memcpy(text, before, skip);
	memset(text + skip, c, n);
	strcpy(text + skip + n, after);
	return text;
}

START_TEST(long_values)
{
	char *text = repeat("[a]\nk = ", 'v', INIFILE_MAX_WRITTEN, "\nl = w\n"), *got;

	choose(_i);
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_OK);
	ck_assert_uint_eq(strlen(got), INIFILE_MAX_WRITTEN + strlen("[a]1 k=<>2:5 l=<w>3:5 "));
	free(text);
	free(got);
	text = repeat("[a]\nk = ", 'v', INIFILE_MAX_WRITTEN + 1, " ; c\nl = w\n");
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_EINPUT);
	ck_assert_str_eq(got, "[a]1 l=<w>3:5 !2:5 a value of 524291 bytes, more than 524290 ");
	free(text);
	free(got);
}
END_TEST

START_TEST(long_names)
{
	char *text = repeat("[", 's', 100000, "]\nk = v\n"), *got;

	choose(_i);
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_OK);
	ck_assert_uint_eq(strlen(got), 100000 + strlen("[]1 k=<v>2:5 "));
	free(text);
	free(got);
	text = repeat("[a]\n", 'k', 100000, " = v\n");
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_OK);
	ck_assert_uint_eq(strlen(got), 100000 + strlen("[a]1 =<v>2:100004 "));
	free(text);
	free(got);
	text = repeat("", '[', 1000000, "");
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_EINPUT);
	free(text);
	free(got);
}
END_TEST

START_TEST(many_entries)
{
	struct strbuf text = {0};
	char *whole, *got;

	choose(_i);
	for (int i = 0; i < 50000; i++)
		strbuf_printf(&text, "[s%d]\nk%d = %d\n", i, i, i);
	whole = strbuf_take(&text);
	ck_assert_int_eq(read_recorded(&got, span_of(whole), 0), GPUMAP_OK);
	ck_assert_ptr_nonnull(strstr(got, "[s49999]99999 k49999=<49999>100000:10 "));
	free(whole);
	free(got);
}
END_TEST

START_TEST(errors_end)
{
	char *text, *got;
	struct strbuf all = {0};

	for (int i = 0; i < 1000000; i++)
		strbuf_puts(&all, "=\n");
	text = strbuf_take(&all);
	ck_assert_int_eq(read_recorded(&got, span_of(text), 0), GPUMAP_EINPUT);
	ck_assert_ptr_nonnull(
		strstr(got, "!100:1 no key before '=' !100:-1 100 errors; the rest of the file was "
			    "not read "));
	ck_assert_ptr_null(strstr(got, "!101"));
	free(text);
	free(got);
}
END_TEST

START_TEST(other_codes_end)
{
	char *got;

	ck_assert_int_eq(read_recorded(&got, span_of("[a]\nbad\nrefused=1\nk=v\n"), GPUMAP_ELIMIT),
			 GPUMAP_ELIMIT);
	ck_assert_str_eq(got, "[a]1 refused=<1>3:9 !2:1 no '=' in 'bad' ");
	free(got);
	ck_assert_int_eq(read_recorded(&got, span_of("[refused]\nk=v\n"), GPUMAP_ENOMEM),
			 GPUMAP_ENOMEM);
	ck_assert_str_eq(got, "[refused]1 ");
	free(got);
}
END_TEST

/* Settings under which inih cannot work are an error, never a lost line. */
START_TEST(lost_lines_are_seen)
{
	char **prefixes = dlsym(RTLD_DEFAULT, "ini_start_comment_prefixes");
	int *max = dlsym(RTLD_DEFAULT, "ini_max_line");
	static char digits[] = "0123456789", usual[] = ";#";
	char *got;

	if (!prefixes || !max)
		return;
	*prefixes = digits;
	ck_assert_int_eq(read_recorded(&got, span_of("[a]\nk=v\nl=w\n"), 0), GPUMAP_EINPUT);
	ck_assert_ptr_nonnull(strstr(got, "loses lines"));
	free(got);
	*prefixes = usual;
	*max = 4;
	ck_assert_int_eq(read_recorded(&got, span_of("[a]\nk=v\nl=w\n"), 0), GPUMAP_EINPUT);
	ck_assert_ptr_nonnull(strstr(got, "loses lines"));
	free(got);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inifile");
	TCase *tests = tcase_create("inifile");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, texts, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, texts_under_other_settings, 0, SETTINGS);
	tcase_add_loop_test(tests, long_values, 0, SETTINGS);
	tcase_add_loop_test(tests, long_names, 0, SETTINGS);
	tcase_add_loop_test(tests, many_entries, 0, SETTINGS);
	tcase_add_test(tests, errors_end);
	tcase_add_test(tests, other_codes_end);
	tcase_add_test(tests, lost_lines_are_seen);
	return unit_run(suite);
}
