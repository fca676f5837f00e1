/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "strbuf.h"
#include "text/inifile.h"
#include "unit.h"

static const struct {
	const char *text, *want;
} item_rows[] = {
	{"", "<>"},
	{"a", "<a>"},
	{"a,b", "<a><b>"},
	{" a , b ,", "<a><b><>"},
	{"\"a, b\" , 'c, d'", "<a, b><c, d>"},
	{"name:\"x, y\",2", "<name:x, y><2>"},
	{"it's, x", "<it's><x>"},
	{"a,'b", "<a><'b>"},
};

START_TEST(items)
{
	struct span rest = span_of(item_rows[_i].text), item;
	struct strbuf got = {0};
	char *text;

	while (inifile_item(&rest, &item)) {
		strbuf_puts(&got, "<");
		inifile_decode(&got, item);
		strbuf_puts(&got, ">");
	}
	text = strbuf_take(&got);
	ROW_EQ_STR(item_rows[_i].text, text, item_rows[_i].want);
	free(text);
}
END_TEST

static const struct {
	const char *text, *want;
} encode_rows[] = {
	{"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"},
	{"0000:07:00.0", "0000:07:00.0"},
	{"", "\"\""},
	{" a", "\" a\""},
	{"a ", "\"a \""},
	{"a\"b\\c", "\"a\\\"b\\\\c\""},
	{"a ; b", "\"a ; b\""},
	{"Bob's", "\"Bob's\""},
	{"a\n\t\x7f", "\"a\\x0a\\x09\\x7f\""},
	{"\xe5\x8d\xa1", "\"\xe5\x8d\xa1\""},
	{"a\xff", "\"a\\xff\""},
};

START_TEST(encoding)
{
	const char *text = encode_rows[_i].text, *wrong, *why;
	struct strbuf buf = {0}, back = {0};
	char *got, *again;

	inifile_encode(&buf, span_of(text));
	got = strbuf_take(&buf);
	ROW_EQ_STR(text, got, encode_rows[_i].want);
	ROW_EQ_INT(text, inifile_value_length(span_of(got), ' ', &wrong, &why), strlen(got));
	inifile_decode(&back, span_of(got));
	again = strbuf_take(&back);
	if (text[0] != '\xff')
		ROW_EQ_STR(text, again, text);
	free(got);
	free(again);
}
END_TEST

static const char *const key_names[] = {"visible", "device", NULL};

static const struct {
	const char *key;
	int want;
	const char *message, *fix;
} key_rows[] = {
	{"visible", 0, NULL, NULL},
	{"device", 1, NULL, NULL},
	{"x_rack", INIFILE_SITE_KEY, NULL, NULL},
	{"visble", INIFILE_BAD_KEY, "unknown key 'visble' in [s]", "did you mean visible?"},
	{"Device", INIFILE_BAD_KEY, "unknown key 'Device' in [s]", "did you mean device?"},
	{"quux", INIFILE_BAD_KEY, "unknown key 'quux' in [s]", "start your own keys with x_"},
};

START_TEST(keys)
{
	struct inifile_entry entry = {.section = span_of("s"), .line = 3, .key_column = 2};
	const char *name = key_rows[_i].key;
	int lines[2] = {0}, got;
	gpumap_report *report;
	const gpumap_finding *f;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	entry.key = span_of(name);
	got = inifile_key(&entry, key_names, lines, "t.ini", report);
	ROW_EQ_INT(name, got, key_rows[_i].want);
	f = gpumap_report_get(report, 0);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_TEXT), key_rows[_i].message);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_FIX), key_rows[_i].fix);
	entry.line = 5;
	if (got >= 0) {
		ROW_EQ_INT(name, inifile_key(&entry, key_names, lines, "t.ini", report),
			   INIFILE_BAD_KEY);
		f = gpumap_report_get(report, 0);
		ck_assert_ptr_nonnull(f);
		ck_assert_ptr_nonnull(
			strstr(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), "line 3 already"));
		ROW_EQ_INT(name, gpumap_finding_int(f, GPUMAP_FINDING_LINE), 5);
	}
	gpumap_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inivalue");
	TCase *tests = tcase_create("inivalue");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, items, 0, ARRAY_SIZE(item_rows));
	tcase_add_loop_test(tests, encoding, 0, ARRAY_SIZE(encode_rows));
	tcase_add_loop_test(tests, keys, 0, ARRAY_SIZE(key_rows));
	return unit_run(suite);
}
