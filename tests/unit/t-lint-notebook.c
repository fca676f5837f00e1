/* SPDX-License-Identifier: MIT */
/* Notebooks: what is read of their JSON, and what their cells are as Python and as scripts. */
#include "lint/notebook.h"

#include "gpumap.h"
#include "unit.h"

#define CODE(source) "{\"cell_type\":\"code\",\"source\":" source "}"
#define CELLS(cells) "{\"cells\":[" cells "]}"

static const struct {
	const char *name, *json, *program, *scripts;
} rows[] = {
	{"no cell", CELLS(""), "", ""},
	{"a string", CELLS(CODE("\"a\\nb\"")), "a\nb\n", ""},
	{"a list", CELLS(CODE("[\"a\\n\",\"b\\n\"]")), "a\nb\n", ""},
	{"a line in pieces", CELLS(CODE("[\"a\",\"b\"]")), "ab\n", ""},
	{"an empty cell", CELLS(CODE("[]") "," CODE("\"\"") "," CODE("\"a\"")), "a\n", ""},
	{"two cells", CELLS(CODE("\"a\"") "," CODE("\"b\"")), "a\nb\n", ""},
	{"text is not code", CELLS("{\"cell_type\":\"markdown\",\"source\":\"a\"}"), "", ""},
	{"output is not code",
	 CELLS("{\"cell_type\":\"code\",\"outputs\":[{\"source\":\"b\",\"text\":[\"c\"]}],"
	       "\"source\":\"a\"}"),
	 "a\n", ""},
	{"the type behind the source", CELLS("{\"source\":\"a\",\"cell_type\":\"code\"}"), "a\n",
	 ""},
	{"cells that are none", CELLS("1,\"a\",[[]],{},null," CODE("7") "," CODE("[1,\"a\"]")),
	 "a\n", ""},
	{"of 2014",
	 "{\"worksheets\":[{\"cells\":[{\"cell_type\":\"code\",\"input\":\"a\"}]}],\"nbformat\":3}",
	 "a\n", ""},
	{"escapes", CELLS(CODE("\"\\\"\\\\\\/\\t\\u0041\\u00e9\\ud83d\\ude00\"")),
	 "\"\\/\tA\303\251\360\237\230\200\n", ""},
	{"half a character", CELLS(CODE("\"\\ud83dx\"")), "\357\277\275x\n", ""},
	{"a NUL", CELLS(CODE("\"a\\u0000b\"")), "a b\n", ""},
	{"ends of lines", CELLS(CODE("\"a\\r\\nb\\rc\"")), "a\nb\nc\n", ""},
	{"blank lines", CELLS(CODE("\"\\n\\na\"")), "\n\na\n", ""},
	{"a byte order mark", "\xef\xbb\xbf" CELLS(CODE("\"a\"")), "a\n", ""},
	{"indented as a whole", CELLS(CODE("\"  if a:\\n    b\"")), "if a:\n  b\n", ""},
	{"a bracket that is not closed", CELLS(CODE("\"f(\\na\"") "," CODE("\"b\"")), "\n\nb\n",
	 ""},
	{"a text that is not closed", CELLS(CODE("\"x = '''a\\n!ls\"") "," CODE("\"b\"")),
	 "\n\nb\n", ""},

	{"a magic", CELLS(CODE("\"%matplotlib inline\\na\"")), "pass\na\n", ""},
	{"a magic in a block", CELLS(CODE("\"if a:\\n    %pip x\\n    b\"")),
	 "if a:\n    pass\n    b\n", ""},
	{"an operator", CELLS(CODE("\"x = (a\\n  % b)\\ny = '%s' \\\\\\n  % c\"")),
	 "x = (a\n  % b)\ny = '%s' \\\n  % c\n", ""},
	{"a magic in a text", CELLS(CODE("\"x = \\\"\\\"\\\"\\n%env A=1\\n!ls\\n\\\"\\\"\\\"\"")),
	 "x = \"\"\"\n%env A=1\n!ls\n\"\"\"\n", ""},
	{"quotes in a comment", CELLS(CODE("\"a # it's (\\n%pip x\"")), "a # it's (\npass\n", ""},
	{"a quote in a text", CELLS(CODE("\"a = 'it\\\\'s (' + \\\"'\\\"\\n%pip x\"")),
	 "a = 'it\\'s (' + \"'\"\npass\n", ""},
	{"%env", CELLS(CODE("\"%env A=1,2\"")), "import os; os.environ[\"A\"] = \"1,2\"\n", ""},
	{"%env with a blank", CELLS(CODE("\"%env  A 1\"")),
	 "import os; os.environ[\"A\"] = \"1\"\n", ""},
	{"%set_env", CELLS(CODE("\"%set_env A = 1\"")), "import os; os.environ[\"A\"] = \"1\"\n",
	 ""},
	{"%env with quotes", CELLS(CODE("\"%env A=\\\"1\\\"\"")),
	 "import os; os.environ[\"A\"] = '\"1\"'\n", ""},
	{"%env of Python", CELLS(CODE("\"%env A=$x\\n%env B={y}\"")),
	 "import os; os.environ[\"A\"] = get_ipython()\nimport os; os.environ[\"B\"] = "
	 "get_ipython()\n",
	 ""},
	{"%env to show", CELLS(CODE("\"%env\\n%env A\\n%env a b=c\"")), "pass\npass\npass\n", ""},
	{"%time", CELLS(CODE("\"%time x = f()\\n%time -n f()\"")), "x = f()\npass\n", ""},
	{"help", CELLS(CODE("\"f?\\n?f\\nf??\\nx = 'a?'\\n# why?\"")),
	 "pass\npass\npass\nx = 'a?'\n# why?\n", ""},

	{"a command", CELLS(CODE("\"!a 'b'\\nc\"")), "pass\nc\n", "a 'b'\n|"},
	{"its output", CELLS(CODE("\"x = !a\\ny, z = %who\\nb = 5 % 3\\nc = a != b\"")),
	 "x = get_ipython()\ny, z = get_ipython()\nb = 5 % 3\nc = a != b\n", "a\n|"},
	{"two commands", CELLS(CODE("\"!a\\n!!b\"")), "pass\npass\n", "a\n|b\n|"},
	{"a long command", CELLS(CODE("\"!a \\\\\\n  b\\nc\"")), "pass\n\nc\n", "a \\\n  b\n|"},
	{"a long command at the end", CELLS(CODE("\"!a \\\\\"")), "pass\n", "a \\\n|"},
	{"a command with a value of Python", CELLS(CODE("\"!a {n}\\n!b ${n}\"")), "pass\npass\n",
	 "b ${n}\n|"},
	{"%%bash", CELLS(CODE("\"%%bash\\na (\\nb\"") "," CODE("\"c\"")), "\n\n\nc\n", "a (\nb\n|"},
	{"%%bash behind a blank line", CELLS(CODE("\"\\n%%sh --out x\\na\"")), "\n\n\n", "a\n|"},
	{"%%script", CELLS(CODE("\"%%script bash\\na\"") "," CODE("\"%%script perl\\nb\"")),
	 "\n\n\n\n", "a\n|"},
	{"%%shell behind a comment", CELLS(CODE("\"# it's\\n\\n%%shell\\na\"")), "\n\n\n\n",
	 "a\n|"},
	{"a comment alone", CELLS(CODE("\"# it's\\n\\n\"")), "# it's\n\n", ""},
	{"%%bash alone", CELLS(CODE("\"%%bash\"")), "\n", ""},
	{"%%time", CELLS(CODE("\"%%time\\na\"")), "\na\n", ""},
	{"%%time alone", CELLS(CODE("\"%%time\"")), "\n", ""},
	{"another language", CELLS(CODE("\"%%html\\n<a>\"") "," CODE("\"b\"")), "\n\nb\n", ""},
};

static char *scripts_of(const struct notebook *nb)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < nb->script_count; i++) {
		const struct notebook_script *script = &nb->script_list[i];

		strbuf_add(&buf, nb->scripts.text + script->from, script->length);
		strbuf_puts(&buf, "|");
	}
	return strbuf_take(&buf);
}

START_TEST(cells)
{
	struct notebook nb = {.line_count = 0};
	char *scripts;
	bool recognised;
	int row;

	ck_assert(notebook_recognise(span_of(rows[_i].json), &recognised));
	ck_assert(recognised);
	ROW_EQ_INT(rows[_i].name, notebook_read(&nb, span_of(rows[_i].json), &row), GPUMAP_OK);
	notebook_translate(&nb);
	scripts = scripts_of(&nb);
	ROW_EQ_STR(rows[_i].name, nb.program.text ? nb.program.text : "", rows[_i].program);
	ROW_EQ_STR(rows[_i].name, scripts, rows[_i].scripts);
	free(scripts);
	notebook_free(&nb);
}
END_TEST

/* --- places ------------------------------------------------------------------------------ */

START_TEST(places)
{
	static const char json[] = "{\"cells\": [\n"
				   " {\"cell_type\": \"markdown\", \"source\": \"x\"},\n"
				   " {\"cell_type\": \"code\", \"source\": [\n"
				   "  \"a = \\\"\\u00e9\\\" + b\\n\",\n"
				   "  \"c\"]}]}";
	struct notebook nb = {.line_count = 0};
	int row;

	ck_assert_int_eq(notebook_read(&nb, span_of(json), &row), GPUMAP_OK);
	ck_assert_uint_eq(nb.line_count, 2);
	ck_assert_int_eq(nb.lines[0].row, 4);
	ck_assert_int_eq(nb.lines[0].column, 4);
	ck_assert_int_eq(nb.lines[0].cell, 2);
	ck_assert_int_eq(nb.lines[1].row, 5);
	ck_assert_int_eq(nb.lines[1].number, 2);
	ck_assert_int_eq(notebook_column(&nb, &nb.lines[0], 0), 4);
	ck_assert_int_eq(notebook_column(&nb, &nb.lines[0], 5), 10);
	/* b, behind four bytes that are ten in the file */
	ck_assert_int_eq(notebook_column(&nb, &nb.lines[0], 11), 21);
	ck_assert_int_eq(notebook_column(&nb, &nb.lines[1], 1000), 5);
	notebook_free(&nb);
}
END_TEST

/* --- what is no notebook ----------------------------------------------------------------- */

static const struct {
	const char *name, *text;
	bool json, cells;
	int row; /* of the error; 0: it is read */
} others[] = {
	{"nothing", "", false, false, 1},
	{"blanks", " \n ", false, false, 2},
	{"a word", "import os\n", false, false, 1},
	{"a number", "1", false, false, 1},
	{"a list", "[1]", true, false, 1},
	{"an object", "{\"a\": 1}", true, false, 1},
	{"cells that are no list", "{\"cells\": {}}", true, false, 1},
	{"not closed", "{\"cells\": [\n", false, false, 2},
	{"a string that is not closed", "{\"cells\": [\n\n\"a", false, false, 3},
	{"an escape at the end", "{\"cells\": [\"\\", false, false, 1},
	{"a line in a string", "{\"cells\": [\"a\nb\"]}", false, false, 1},
	{"text behind", "{\"cells\": []}\nx", false, false, 2},
	{"a comma too many", "{\"cells\": [],}", true, true, 1},
	{"no colon", "{\"cells\" []}", true, false, 1},
	{"a dictionary of Python", "{'a': 1}\n", false, false, 1},
	{"no cell", "{\"cells\": []}", true, true, 0},
};

START_TEST(others_are_refused)
{
	struct notebook nb = {.line_count = 0};
	struct span text = span_of(others[_i].text);
	const char *name = others[_i].name;
	int row = 0, code = notebook_read(&nb, text, &row);
	bool is_notebook;

	ROW_EQ_INT(name, notebook_recognise(text, &is_notebook), others[_i].json);
	ROW_EQ_INT(name, is_notebook, others[_i].cells);
	ROW_EQ_INT(name, code, others[_i].row ? GPUMAP_EINPUT : GPUMAP_OK);
	ROW_EQ_INT(name, row, others[_i].row);
	notebook_free(&nb);
}
END_TEST

START_TEST(languages)
{
	static const char *const texts[][2] = {
		{"{\"cells\":[]}", ""},
		{"{\"cells\":[],\"metadata\":{\"kernelspec\":{\"language\":\"R\"}}}", "R"},
		{"{\"metadata\":{\"language_info\":{\"version\":\"1\",\"name\":\"julia\"},"
		 "\"kernelspec\":{\"language\":\"R\"}},\"cells\":[]}",
		 "julia"},
		{"{\"cells\":[],\"metadata\":{\"language_info\":{\"name\":[\"R\"]}}}", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct notebook nb = {.line_count = 0};
		int row;

		ck_assert_int_eq(notebook_read(&nb, span_of(texts[i][0]), &row), GPUMAP_OK);
		ck_assert_msg(nb.language.text ? span_is(nb.language, texts[i][1]) : !*texts[i][1],
			      "%s", texts[i][0]);
		notebook_free(&nb);
	}
}
END_TEST

/* --- hostile ones ------------------------------------------------------------------------ */

static char *repeated(const char *before, const char *what, size_t count, const char *after)
{
	struct strbuf buf = {0};
	char *text;

	strbuf_puts(&buf, before);
	for (size_t i = 0; i < count; i++)
		strbuf_puts(&buf, what);
	strbuf_puts(&buf, after);
	text = strbuf_take(&buf);
	ck_assert_ptr_nonnull(text);
	return text;
}

static void read_huge(char *text, int want)
{
	struct notebook nb = {.line_count = 0};
	int row, code = notebook_read(&nb, span_of(text), &row);

	ck_assert_int_eq(code, want);
	if (code == GPUMAP_OK)
		notebook_translate(&nb);
	notebook_free(&nb);
	free(text);
}

START_TEST(huge)
{
	read_huge(repeated("{\"cells\":", "[", 1000000, ""), GPUMAP_EINPUT);
	read_huge(repeated("{\"cells\":[", "{\"a\":", 100000, ""), GPUMAP_EINPUT);
	read_huge(repeated("{\"cells\":[", CODE("\"f(\"") ",", 20000, "1]}"), GPUMAP_OK);
	read_huge(repeated("{\"cells\":["
			   "{\"cell_type\":\"code\",\"source\":\"",
			   "!a\\n", 20000, "\"}]}"),
		  GPUMAP_OK);
	read_huge(repeated("{\"cells\":["
			   "{\"cell_type\":\"code\",\"source\":\"",
			   "\\n", 2000000, "\"}]}"),
		  GPUMAP_ELIMIT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-notebook");
	TCase *tests = tcase_create("lint-notebook");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, cells, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, places);
	tcase_add_loop_test(tests, others_are_refused, 0, (int)ARRAY_SIZE(others));
	tcase_add_test(tests, languages);
	tcase_add_test(tests, huge);
	return unit_run(suite);
}
