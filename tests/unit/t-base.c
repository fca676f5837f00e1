/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gpumap.h"

#include "arena.h"
#include "cpuset.h"
#include "dynlib.h"
#include "hash.h"
#include "strbuf.h"
#include "suggest.h"
#include "text.h"
#include "text/pci.h"
#include "text_cells.h"
#include "text_width.h"
#include "unit.h"
#include "xml.h"

static const struct {
	const char *text, *want; /* NULL: no PCI address */
} pci_rows[] = {
	{"00000000:07:00.0", "0000:07:00.0"},
	{"0000:3B:00.0", "0000:3b:00.0"},
	{"07:00.0", "0000:07:00.0"},
	{"  0001:07:1f.7 ", "0001:07:1f.7"},
	{"10de:07:00.0", "10de:07:00.0"},
	{"00010000:07:00.0", "10000:07:00.0"},
	{"0000:07:00", NULL},
	{"0000:07:20.0", NULL},
	{"0000:07:00.8", NULL},
	{"0000:07:00.0x", NULL},
	{"", NULL},
	{":", NULL},
	{"zz:07:00.0", NULL},
};

START_TEST(pci_addresses)
{
	char got[20];
	bool ok = pci_normalise(span_of(pci_rows[_i].text), got);

	ROW_EQ_STR(pci_rows[_i].text, ok ? got : NULL, pci_rows[_i].want);
}
END_TEST

static const struct {
	const char *text, *end;
	bool ends;
} end_rows[] = {
	{"a.py", ".py", true}, {".py", ".py", true},    {"", "", true},     {"a", "", true},
	{"py", ".py", false},  {"a.pyc", ".py", false}, {"", ".py", false},
};

START_TEST(texts_end)
{
	ROW_EQ_INT(end_rows[_i].text, text_ends(end_rows[_i].text, end_rows[_i].end),
		   end_rows[_i].ends);
}
END_TEST

static const struct {
	const char *text;
	bool utf16;
} utf16_rows[] = {
	{"\xff\xfeG", true}, {"\xfe\xff", true},      {"\xff", false},     {"", false},
	{"GPU", false},      {"\xef\xbb\xbf", false}, {"\xff\xff", false},
};

START_TEST(utf16_has_a_mark)
{
	ROW_EQ_INT(utf16_rows[_i].text, span_is_utf16(span_of(utf16_rows[_i].text)),
		   utf16_rows[_i].utf16);
}
END_TEST

static const struct {
	const char *text, *words;
	bool is, starts, has;
} list_rows[] = {
	{"to", "cuda to", true, true, true},        {"too", "cuda to", false, true, true},
	{"t", "cuda to", false, false, false},      {"", "cuda to", false, false, false},
	{"cuda", "", false, false, false},          {"cuda to", "cuda to", false, true, true},
	{"My_CUDA", "cuda to", false, false, true}, {"uda", "cuda", false, false, false},
	{"cucuda", "cuda", false, false, true},     {"to x", "to cuda", false, true, true},
};

static const struct {
	const char *list, *folded;
} fold_rows[] = {
	{"0,1,2,3,4,5,6,7", "0-7"},
	{"0,1", "0,1"},
	{"7,0,1,2", "7,0-2"},
	{"3,2,1", "3,2,1"},
	{"0,1,2,2,3,4", "0-2,2-4"},
	{"0:0,0:1,1,2,3", "0:0,0:1,1-3"},
	{"", ""},
	{"5", "5"},
	{"GPU-1,8,9,10", "GPU-1,8-10"},
};

START_TEST(numbers_become_ranges)
{
	struct strbuf buf = {0};

	fold_numbers(&buf, span_of(fold_rows[_i].list));
	ROW_EQ_STR(fold_rows[_i].list, buf.text ? buf.text : "", fold_rows[_i].folded);
	strbuf_free(&buf);
}
END_TEST

START_TEST(words_of_a_list)
{
	struct span s = span_of(list_rows[_i].text);

	ROW_EQ_INT(s.text, span_is_any(s, list_rows[_i].words), list_rows[_i].is);
	ROW_EQ_INT(s.text, span_starts_any(s, list_rows[_i].words), list_rows[_i].starts);
	ROW_EQ_INT(s.text, span_has_any(s, list_rows[_i].words), list_rows[_i].has);
}
END_TEST

static const struct {
	const char *text, *printed; /* NULL: no list */
} cpu_rows[] = {
	{"", ""},
	{"0", "0"},
	{"0-3", "0-3"},
	{"3,1,0", "0-1,3"},
	{" 0-1 , 3 ", "0-1,3"},
	{"63-64,128", "63-64,128"},
	{"0,63-64,127", "0,63-64,127"},
	{"5-5", "5"},
	{"0-3,2-9", "0-9"},
	{"3-1", NULL},
	{"x", NULL},
	{"0,", NULL},
	{"-1", NULL},
	{"1-", NULL},
	{"0-65536", NULL},
	{"0-1-2", NULL},
	{",", NULL},
};

START_TEST(cpu_lists)
{
	struct arena arena = {0};
	struct cpu_set set;
	bool ok = cpu_set_parse(&arena, &set, span_of(cpu_rows[_i].text));

	ROW_EQ_INT(cpu_rows[_i].text, ok, cpu_rows[_i].printed != NULL);
	if (ok) {
		struct strbuf buf = {0};

		strbuf_puts(&buf, "cpus: ");
		cpu_set_write(&buf, set);
		ROW_EQ_STR(cpu_rows[_i].text, buf.text + strlen("cpus: "), cpu_rows[_i].printed);
		ROW_EQ_STR(cpu_rows[_i].text, cpu_set_print(&arena, set), cpu_rows[_i].printed);
		strbuf_free(&buf);
	}
	arena_free(&arena);
}
END_TEST

static const struct {
	const char *name, *find, *nonempty;
} environ_rows[] = {
	{"ONE", "1", "1"},        {"EMPTY", "", NULL}, {"TWICE", "first", "first"},
	{"EQUALS", "a=b", "a=b"}, {"ON", NULL, NULL},  {"ONES", NULL, NULL},
	{"BARE", NULL, NULL},     {"", NULL, NULL},
};

START_TEST(environments)
{
	static const char *const envp[] = {"BARE",        "ONE=1",      "EMPTY=", "TWICE=first",
					   "TWICE=again", "EQUALS=a=b", NULL};
	const char *name = environ_rows[_i].name;

	ROW_EQ_STR(name, environ_find(envp, name), environ_rows[_i].find);
	ROW_EQ_STR(name, environ_nonempty(envp, name), environ_rows[_i].nonempty);
	ROW_EQ_STR(name, environ_find(NULL, name), NULL);
}
END_TEST

struct functions {
	size_t (*length)(const char *text);
	void (*later)(void);
};

static const struct {
	const char *file, *symbol;
	bool optional, opened;
	const char *missing;
} dynlib_rows[] = {
	{"libc.so.6", "strlen", false, true, NULL},
	{"libc.so.6", "no_such_function", true, true, NULL},
	{"libc.so.6", "no_such_function", false, false, "no_such_function"},
	{"libno-such-library.so.1", "strlen", false, false, NULL},
};

START_TEST(shared_libraries)
{
	const struct dynlib_function table[] = {
		{"strlen", offsetof(struct functions, length), false},
		{dynlib_rows[_i].symbol, offsetof(struct functions, later),
		 dynlib_rows[_i].optional},
	};
	struct functions functions = {NULL, NULL};
	const char *missing = "untouched";
	void *library = dynlib_open(dynlib_rows[_i].file, table, 2, &functions, &missing);

	ROW_EQ_INT(dynlib_rows[_i].symbol, library != NULL, dynlib_rows[_i].opened);
	ROW_EQ_STR(dynlib_rows[_i].symbol, missing, dynlib_rows[_i].missing);
	ROW_EQ_INT(dynlib_rows[_i].symbol, functions.length != NULL, dynlib_rows[_i].opened);
	ROW_EQ_INT(dynlib_rows[_i].symbol, functions.later != NULL,
		   dynlib_rows[_i].opened && !dynlib_rows[_i].optional);
	if (library) {
		ROW_EQ_INT(dynlib_rows[_i].symbol, functions.length("four"), 4);
		dlclose(library);
	}
}
END_TEST

static const struct {
	const char *text;
	int64_t max, want;
} number_rows[] = {
	{"0", 9, 0},
	{"9", 9, 9},
	{"10", 9, -1},
	{"", 9, -1},
	{"-1", 9, -1},
	{"1 ", 9, -1},
	{"99999999999999999999", INT64_MAX, -1},
	{"2147483647", INT64_MAX, 2147483647},
};

START_TEST(numbers)
{
	ROW_EQ_INT(number_rows[_i].text,
		   span_number(span_of(number_rows[_i].text), number_rows[_i].max),
		   number_rows[_i].want);
}
END_TEST

/* From the tables of the algorithm's authors. */
static const struct {
	const char *text;
	uint64_t want;
} hash_rows[] = {
	{"", 0xcbf29ce484222325},
	{"a", 0xaf63dc4c8601ec8c},
	{"foobar", 0x85944171f73967e8},
};

START_TEST(hashes)
{
	const char *text = hash_rows[_i].text;

	ck_assert_msg(hash_text(HASH_START, text) == hash_rows[_i].want, "%s", text);
}
END_TEST

/* Each hash has two positions. */
START_TEST(positions_by_hash)
{
	enum { COUNT = 1000 };
	struct hash_index index = {0};
	size_t walk = 0, position;

	ck_assert(!hash_index_next(&index, 0, &walk, &position));
	for (size_t i = 0; i < COUNT; i++)
		ck_assert(hash_index_add(&index, i % (COUNT / 2), i));
	for (size_t i = 0; i < COUNT / 2; i++) {
		size_t sum = 0, found = 0;

		for (walk = 0; hash_index_next(&index, i, &walk, &position); found++)
			sum += position;
		ck_assert_msg(found == 2 && sum == 2 * i + COUNT / 2, "hash %zu", i);
	}
	walk = 0;
	ck_assert(!hash_index_next(&index, COUNT, &walk, &position));
	hash_index_free(&index);
}
END_TEST

static const struct {
	const char *text;
	int pieces;
	const char *last;
} split_rows[] = {
	{"", 1, ""}, {"a", 1, "a"}, {",", 2, ""}, {"a,,b", 3, "b"}, {"a,b,", 3, ""},
};

START_TEST(splitting)
{
	struct span rest = span_of(split_rows[_i].text), piece = {0};
	int n = 0;

	while (span_split(&rest, ',', &piece))
		n++;
	ROW_EQ_INT(split_rows[_i].text, n, split_rows[_i].pieces);
	ck_assert_msg(span_is(piece, split_rows[_i].last), "%s", split_rows[_i].text);
}
END_TEST

static const struct {
	const char *name, *text, *want;
	size_t length;
} escape_rows[] = {
	{"plain", "cuda:1", "cuda:1", 6},
	{"control", "a\nb\x1b[0m", "a\\x0ab\\x1b[0m", 7},
	{"nul", "a\0b", "a\\x00b", 3},
	{"delete", "\x7f", "\\x7f", 1},
	{"utf-8", "\xe5\x8d\xa1", "\xe5\x8d\xa1", 3},
	{"cut sequence", "\xe5\x8d", "\\xe5\\x8d", 2},
	{"overlong", "\xc0\xaf", "\\xc0\\xaf", 2},
	{"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", 3},
	{"c1 control", "\xc2\x9b", "\\xc2\\x9b", 2},
	{"right-to-left override",
	 "0\xe2\x80\xae"
	 "1",
	 "0\\xe2\\x80\\xae"
	 "1",
	 5},
	{"isolate", "\xe2\x81\xa6", "\\xe2\\x81\\xa6", 3},
	{"line separator", "\xe2\x80\xa8", "\\xe2\\x80\\xa8", 3},
	{"zero width space", "\xe2\x80\x8b", "\\xe2\\x80\\x8b", 3},
	{"byte order mark", "\xef\xbb\xbf", "\\xef\\xbb\\xbf", 3},
	{"no character", "\xef\xbf\xbf", "\\xef\\xbf\\xbf", 3},
	{"arabic letter mark", "\xd8\x9c", "\\xd8\\x9c", 2},
	{"ordinary punctuation", "\xe2\x80\x94\xe2\x81\x84", "\xe2\x80\x94\xe2\x81\x84", 6},
};

START_TEST(escaping)
{
	struct strbuf buf = {0};
	char *got;

	escape_to(&buf, escape_rows[_i].text, escape_rows[_i].length);
	got = strbuf_take(&buf);
	ROW_EQ_STR(escape_rows[_i].name, got, escape_rows[_i].want);
	free(got);
}
END_TEST

static const struct {
	const char *name, *text, *want;
} xml_rows[] = {
	{"nothing", "", ""},
	{"plain", "cuda:1 \xe5\x8d\xa1 '", "cuda:1 \xe5\x8d\xa1 '"},
	{"markup", "<a b=\"&amp;\">", "&lt;a b=&quot;&amp;amp;&quot;&gt;"},
	{"a line end", "a\nb", "a" REPLACEMENT "b"},
	{"a control of two bytes", "\xc2\x85", REPLACEMENT},
	{"no character", "\xef\xbf\xbe", REPLACEMENT},
	{"a replacement", REPLACEMENT, REPLACEMENT},
	{"bytes", "\xff\xe5\x8d", REPLACEMENT REPLACEMENT REPLACEMENT},
	{"beyond the first plane", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
};

START_TEST(xml)
{
	struct strbuf buf = {0};

	strbuf_puts(&buf, ">");
	xml_escape(&buf, span_of(xml_rows[_i].text));
	ROW_EQ_STR(xml_rows[_i].name, buf.text + 1, xml_rows[_i].want);
	strbuf_free(&buf);
}
END_TEST

/* What a message quotes is one line: 200 bytes, and all of a character that begins in them. */
START_TEST(quoting)
{
	char text[256], want[832];

	memset(text, 'a', sizeof(text));
	memset(want, 'a', sizeof(want));
	want[200] = '\0';
	ROW_EQ_STR("200 bytes", QUOTE(((struct span){text, 200})), want);
	memcpy(want + 200, "...", 4);
	ROW_EQ_STR("201 bytes", QUOTE(((struct span){text, 201})), want);
	memcpy(text + 199, "\xe5\x8d\xa1", 3);
	memcpy(want + 199, "\xe5\x8d\xa1...", 7);
	ROW_EQ_STR("a character across the end", QUOTE(((struct span){text, 202})), want);
	memset(text, '\n', sizeof(text));
	for (int i = 0; i < 200; i++)
		memcpy(want + 4 * i, "\\x0a", 4);
	memcpy(want + 800, "...", 4);
	ROW_EQ_STR("the longest", QUOTE(((struct span){text, 256})), want);
	ROW_EQ_STR("empty", QUOTE(((struct span){NULL, 0})), "");
}
END_TEST

static const struct {
	const char *a, *b;
	int want;
} distance_rows[] = {
	{"visible", "visible", 0},
	{"visble", "visible", 1},
	{"CUDA_VISABLE_DEVICES", "CUDA_VISIBLE_DEVICES", 1},
	{"viisble", "visible", 1},
	{"CUDA_DEVICES_VISIBLE", "CUDA_VISIBLE_DEVICES", 3},
	{"", "ab", 2},
	{"", "", 0},
};

START_TEST(distances)
{
	ROW_EQ_INT(distance_rows[_i].a,
		   edit_distance(span_of(distance_rows[_i].a), distance_rows[_i].b, 2),
		   distance_rows[_i].want);
}
END_TEST

START_TEST(suggestions)
{
	const char *names[] = {"visible", "device", "device_ids", NULL};
	static const char *const options[] = {"--epochs", "--eps", "--mode", "dp", NULL};
	static const char *const shorts[] = {"cpu", "-m", NULL};

	ROW_EQ_STR("--epoch", suggest(span_of("--epoch"), options), "--epochs");
	ROW_EQ_STR("--lr", suggest(span_of("--lr"), options), NULL);
	ROW_EQ_STR("--MODE", suggest(span_of("--MODE"), options), "--mode");
	ROW_EQ_STR("ddp", suggest(span_of("ddp"), options), "dp");
	ROW_EQ_STR("", suggest(span_of(""), options), NULL);
	ROW_EQ_STR("a long one", suggest(span_of("--mode-of-this-and-that-program"), options),
		   NULL);
	ROW_EQ_STR("visble", suggest(span_of("visble"), names), "visible");
	ROW_EQ_STR("devise", suggest(span_of("devise"), names), "device");
	ROW_EQ_STR("device-ids", suggest(span_of("device-ids"), names), "device_ids");
	ROW_EQ_STR("strict", suggest(span_of("strict"), names), NULL);
	ROW_EQ_STR("gpu", suggest(span_of("gpu"), shorts), NULL);
	ROW_EQ_STR("CPU", suggest(span_of("CPU"), shorts), "cpu");
	ROW_EQ_STR("cp", suggest(span_of("cp"), shorts), "cpu");
	ROW_EQ_STR("-r", suggest(span_of("-r"), shorts), NULL);
}
END_TEST

static const struct {
	const char *words, *text;
	int place;
	const char *fix;
} word_rows[] = {
	{"a|bc", "a", 0, "did you mean a?"},
	{"a|bc", "bc", 1, "did you mean bc?"},
	{"a|bc", "", -1, "write a or bc"},
	{"a|bc", "a|bc", -1, "write a or bc"},
	{"list|isolate|rotate", "isolat", -1, "did you mean isolate?"},
	{"list|isolate|rotate", "ISOLATE", -1, "did you mean isolate?"},
	{"auto|cores:COUNT|x", "cores:COUNX", -1, "write auto, cores:COUNT or x"},
	{"one", "eleven", -1, "write one"},
};

START_TEST(words_between_bars)
{
	const char *name = word_rows[_i].text, *words = word_rows[_i].words;

	ROW_EQ_INT(name, word_place(words, span_of(name)), word_rows[_i].place);
	ROW_EQ_STR(name, WORD_FIX(words, span_of(name)), word_rows[_i].fix);
}
END_TEST

START_TEST(codes)
{
	ROW_EQ_STR("0", gpumap_strerror(0), "success");
	ROW_EQ_STR("limit", gpumap_strerror(GPUMAP_ELIMIT), "larger than the library's limits");
	ROW_EQ_STR("1", gpumap_strerror(1), "unknown code");
	ROW_EQ_STR("-99", gpumap_strerror(-99), "unknown code");
}
END_TEST

START_TEST(arena_grows)
{
	struct arena arena = {0};
	char *first = arena_strdup(&arena, "first");

	for (int i = 0; i < 1000; i++)
		ck_assert_ptr_nonnull(arena_printf(&arena, "%d", i));
	ck_assert_ptr_nonnull(arena_alloc(&arena, 1, 100000));
	ROW_EQ_STR("first", first, "first");
	for (int length = 250; length < 260; length++) {
		const char *text = arena_printf(&arena, "%s%*d", first, length - 5, 7);

		ck_assert_uint_eq(strlen(text), (size_t)length);
		ck_assert_int_eq(text[length - 1], '7');
	}
	ck_assert(!arena.failed);
	ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX, 2));
	ck_assert(arena.failed);
	arena_free(&arena);
}
END_TEST

/* Cut to the width of the first `fits` bytes. */
static const struct {
	const char *text, *fits, *cut;
} width_rows[] = {
	{"", "", ""},
	{"abcde", "abcde", "abcde"},
	{"iiiiimmmmm", "iiiiimmm", "iiiiimm"},
	{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa4\xe2\x82\xac"},
	{"a\xff\xc0\x80z", "a\xff\xc0\x80", "a\xff\xc0"}, /* never in UTF-8 */
	{"aa\xe2\x80\xae\xe2\x80\xae"
	 "b",
	 "aa\xe2\x80\xae\xe2\x80\xae", "aa\xe2\x80\xae"}, /* turns the direction */
};

START_TEST(widths)
{
	struct font font = {.size = 1000};
	const char *text = width_rows[_i].text, *fits = width_rows[_i].fits;
	int width = text_width(font, fits, strlen(fits));
	char got[32];

	ck_assert_uint_eq(text_fit(font, text, strlen(text), width), strlen(fits));
	ck_assert_uint_eq(text_fit(font, text, strlen(text), width - 1) < strlen(fits), *fits != 0);
	snprintf(got, sizeof(got), "%.*s", (int)text_cut(font, text, strlen(text), width), text);
	ROW_EQ_STR(text, got, width_rows[_i].cut);
	font.bold = true;
	ck_assert_int_ge(text_width(font, fits, strlen(fits)), width);
}
END_TEST

static const struct {
	const char *name, *text;
	size_t cells, fits; /* of the text; how many bytes fit into 4 cells */
	const char *cut;    /* to 4 cells */
} cell_rows[] = {
	{"nothing", "", 0, 0, ""},
	{"as wide", "abcd", 4, 4, "abcd"},
	{"too wide", "abcde", 5, 4, "a..."},
	{"two bytes", "\xc3\xa4\xc3\xb6\xc3\xbc", 3, 6, "\xc3\xa4\xc3\xb6\xc3\xbc"},
	{"two cells each", "\xe6\x98\xbe\xe5\x8d\xa1", 4, 6, "\xe6\x98\xbe\xe5\x8d\xa1"},
	{"half of one", "a\xe6\x98\xbe\xe5\x8d\xa1", 5, 4, "a..."},
	{"a picture", "\xf0\x9f\x98\x80x", 3, 5, "\xf0\x9f\x98\x80x"},
	{"not UTF-8", "\xff\xff", 2, 2, "\xff\xff"},
};

START_TEST(cells)
{
	const char *text = cell_rows[_i].text;
	struct strbuf cut = {0}, left = {0}, right = {0};
	char want[32];

	ROW_EQ_INT(cell_rows[_i].name, text_cells(text, strlen(text)), cell_rows[_i].cells);
	ROW_EQ_INT(cell_rows[_i].name, text_cells_fit(text, strlen(text), 4), cell_rows[_i].fits);
	text_cells_put(&cut, text, 4);
	ROW_EQ_STR(cell_rows[_i].name, cut.text ? cut.text : "", cell_rows[_i].cut);
	text_cells_pad(&left, text, 6, false);
	text_cells_pad(&right, text, 6, true);
	snprintf(want, sizeof(want), "%s%*s", text, (int)(6 - cell_rows[_i].cells), "");
	ROW_EQ_STR(cell_rows[_i].name, left.text, want);
	snprintf(want, sizeof(want), "%*s%s", (int)(6 - cell_rows[_i].cells), "", text);
	ROW_EQ_STR(cell_rows[_i].name, right.text, want);
	strbuf_free(&cut);
	strbuf_free(&left);
	strbuf_free(&right);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *tests = tcase_create("base");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pci_addresses, 0, sizeof(pci_rows) / sizeof(*pci_rows));
	tcase_add_loop_test(tests, numbers, 0, sizeof(number_rows) / sizeof(*number_rows));
	tcase_add_loop_test(tests, texts_end, 0, sizeof(end_rows) / sizeof(*end_rows));
	tcase_add_loop_test(tests, utf16_has_a_mark, 0, sizeof(utf16_rows) / sizeof(*utf16_rows));
	tcase_add_loop_test(tests, words_of_a_list, 0, ARRAY_SIZE(list_rows));
	tcase_add_loop_test(tests, numbers_become_ranges, 0, ARRAY_SIZE(fold_rows));
	tcase_add_loop_test(tests, words_between_bars, 0, ARRAY_SIZE(word_rows));
	tcase_add_loop_test(tests, cpu_lists, 0, ARRAY_SIZE(cpu_rows));
	tcase_add_loop_test(tests, xml, 0, ARRAY_SIZE(xml_rows));
	tcase_add_loop_test(tests, shared_libraries, 0, ARRAY_SIZE(dynlib_rows));
	tcase_add_loop_test(tests, environments, 0, sizeof(environ_rows) / sizeof(*environ_rows));
	tcase_add_loop_test(tests, splitting, 0, sizeof(split_rows) / sizeof(*split_rows));
	tcase_add_loop_test(tests, escaping, 0, sizeof(escape_rows) / sizeof(*escape_rows));
	tcase_add_test(tests, quoting);
	tcase_add_loop_test(tests, distances, 0, sizeof(distance_rows) / sizeof(*distance_rows));
	tcase_add_test(tests, suggestions);
	tcase_add_test(tests, codes);
	tcase_add_test(tests, arena_grows);
	tcase_add_loop_test(tests, widths, 0, ARRAY_SIZE(width_rows));
	tcase_add_loop_test(tests, cells, 0, ARRAY_SIZE(cell_rows));
	tcase_add_loop_test(tests, hashes, 0, sizeof(hash_rows) / sizeof(*hash_rows));
	tcase_add_test(tests, positions_by_hash);
	return unit_run(suite);
}
