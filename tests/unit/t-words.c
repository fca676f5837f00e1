/* SPDX-License-Identifier: MIT */
/* Words, variables, macros, durations, lists of numbers and hosts. */
#include "request/profile_keys.h"
#include "text/expand.h"
#include "text/words.h"
#include "unit.h"

#include <ctype.h>
#include <signal.h>

static const struct {
	const char *text, *want; /* words with | behind; ! and the column of an error */
} words[] = {
	{"", ""},
	{"  \t ", ""},
	{"a", "a|"},
	{" a  b\tc ", "a|b|c|"},
	{"'a b' \"c d\"", "a b|c d|"},
	{"a'b c'd\"e f\"g", "ab cde fg|"},
	{"''", "|"},
	{"a '' \"\"", "a|||"},
	{"a\\ b \\' \\\" \\\\", "a b|'|\"|\\|"},
	{"\"\\\" \\\\ \\n \\t \\r \\x41\"", "\" \\ \n \t \r A|"},
	{"'\\n'", "\\n|"},
	{"${A:-b c} d", "${A:-b c}|d|"},
	{"x${A}y", "x${A}y|"},
	{"'${A} 5%' \\${A} $${A}", "$${A} 5%%|$${A}|$${A}|"},
	{"\\% %", "%%|%|"},
	{"${A b", "${A|b|"},
	{"a#b # c", "a#b|#|c|"},
	{"*.c > out; rm -r ~ `x` $(y) $Z", "*.c|>|out;|rm|-r|~|`x`|$(y)|$Z|"},
	{"a 'b", "a|!3 a quote is not closed"},
	{"a \"b", "a|!3 a quote is not closed"},
	{"a\\", "!2 a backslash at the end"},
	{"\"a\\q\"", "!3 no such escape"},
	{"\"\\x0\"", "!2 no such escape"},
	{"\"\\x00\"", "!2 no such escape"},
};

START_TEST(split)
{
	struct span rest = span_of(words[_i].text);
	struct strbuf word = {0}, got = {0};
	struct words_error error;
	char *text;

	while (words_next(&rest, &word, &error)) {
		strbuf_printf(&got, "%s|", word.text);
		strbuf_free(&word);
	}
	if (error.at)
		strbuf_printf(&got, "!%d %s", (int)(error.at - words[_i].text) + 1, error.text);
	strbuf_free(&word);
	text = strbuf_take(&got);
	ROW_EQ_STR(words[_i].text, text, words[_i].want);
	free(text);
}
END_TEST

static const char *lookup(const void *data, struct span name)
{
	return span_is(name, "A")         ? "a"
	       : span_is(name, "EMPTY")   ? ""
	       : span_is(name, "PERCENT") ? "5%"
	       : span_is(name, "NESTED")  ? "${A}"
					  : NULL;
}

static const struct {
	const char *text, *want;
} variables[] = {
	{"", ""},
	{"plain $A $ {A} }", "plain $A $ {A} }"},
	{"${A}", "a"},
	{"<${A}${A}>", "<aa>"},
	{"${EMPTY}", ""},
	{"${EMPTY:-x} ${NO:-y z} ${NO:-}", "x y z "},
	{"${A:-x}", "a"},
	{"$${A} $$ $$$", "${A} $$ $$$"},
	{"${NESTED}", "${A}"},
	{"${PERCENT}", "5%%"},
	{"%l${A}", "%la"},
	{"x${NO}", "!2 the variable NO is not set"},
	{"${A", "!1 ${ without a }"},
	{"${}", "!1 no variable"},
	{"${1}", "!1 no variable"},
	{"${A-x}", "!1 no variable"},
	{"${A b}", "!1 no variable"},
	{"${NO:-${A}}", "!7 ${ inside ${...}"},
};

START_TEST(expand)
{
	struct strbuf got = {0};
	struct expand_error error;
	char *text;

	if (!expand_variables(&got, span_of(variables[_i].text), true, lookup, NULL, &error)) {
		strbuf_free(&got);
		strbuf_printf(&got, "!%d %s", (int)(error.at - variables[_i].text) + 1, error.text);
	}
	text = strbuf_take(&got);
	ROW_EQ_STR(variables[_i].text, text, variables[_i].want);
	free(text);
}
END_TEST

static const struct {
	const char *text, *want;
} macros[] = {
	{"%r %l %n %h %j", "7 3 1 tux01 run9"},
	{"%05r-%3l-%03n", "00007-  3-001"},
	{"100%%", "100%"},
	{"%s", "!1 %s is not known here"},
	{"a%", "!2 no such macro"},
	{"%d", "!1 no such macro"},
	{"%5h", "!1 a width before h"},
	{"%05", "!1 no such macro"},
	{"%-5r", "!1 no such macro"},
	{"%99999999999r", "!1 no such macro"},
};

START_TEST(expand_macro)
{
	const struct macros known = {
		.rank = 7, .local_rank = 3, .node = 1, .host = "tux01", .run = "run9"};
	struct strbuf got = {0};
	struct expand_error error;
	char *text;

	if (!expand_macros(&got, span_of(macros[_i].text), &known, &error)) {
		strbuf_free(&got);
		strbuf_printf(&got, "!%d %s", (int)(error.at - macros[_i].text) + 1, error.text);
	}
	text = strbuf_take(&got);
	ROW_EQ_STR(macros[_i].text, text, macros[_i].want);
	free(text);
}
END_TEST

/* -1: the value does not suit the key. */
static int64_t read_number(enum profile_key_id key, const char *text)
{
	struct key_value value;

	if (profile_value_read(&value, profile_key(key), span_of(text), ABOUT(.origin = "test"),
			       NULL))
		return -1;
	return value.number;
}

START_TEST(number_forms)
{
	static const struct {
		const char *text;
		int64_t least, most, number; /* NO: it is refused */
	} rows[] = {
#define NO INT64_MIN
		{"1", 1, 9, 1},
		{"9", 1, 9, 9},
		{"0", 1, 9, NO},
		{"10", 1, 9, NO},
		{"007", 1, 9, 7},
		{"0", 0, 9, 0},
		{"-1", 0, 9, NO},
		{"-0", 0, 9, NO},
		{"-", 0, 9, NO},
		{"-20", -20, 19, -20},
		{"-1", -20, 19, -1},
		{"19", -20, 19, 19},
		{"-21", -20, 19, NO},
		{"20", -20, 19, NO},
		{"--1", -20, 19, NO},
		{"-", -20, 19, NO},
		{"", -20, 19, NO},
		{"+1", 1, 9, NO},
		{"", 0, 9, NO},
		{" 1", 1, 9, NO},
		{"1x", 1, 9, NO},
		{"2147483647", 1, INT32_MAX, INT32_MAX},
		{"2147483648", 1, INT64_MAX, NO},
		{"99999999999999999999", 1, INT64_MAX, NO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct form form = {.least = rows[i].least, .most = rows[i].most};
		struct span value = span_of(rows[i].text), wrong;
		bool good = form_check(&form, value, &wrong);

		ROW_EQ_INT(rows[i].text, good, rows[i].number != NO);
		if (good)
			ROW_EQ_INT(rows[i].text, form_number(&form, value), rows[i].number);
		ck_assert_ptr_eq(wrong.text, value.text);
	}
#undef NO
}
END_TEST

START_TEST(durations)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {{"0", 0},           {"30s", 30000}, {"1500ms", 1500}, {"2m", 120000},
		    {"1h", 3600000},    {"5", 5000},    {"s", -1},        {"1d", -1},
		    {"1h30m", -1},      {"-1s", -1},    {"1.5s", -1},     {"1 s", -1},
		    {"99999999999", -1}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ROW_EQ_INT(rows[i].text, read_number(PKEY_PROFILE_timeout, rows[i].text),
			   rows[i].ms);
}
END_TEST

START_TEST(signals)
{
	int64_t set = read_number(PKEY_PROFILE_forward, "SIGUSR1, WINCH");

	ck_assert_int_eq(read_number(PKEY_PROFILE_kill_signal, "INT"), SIGINT);
	ck_assert_int_eq(read_number(PKEY_PROFILE_kill_signal, "SIGINT"), SIGINT);
	ck_assert_int_eq(read_number(PKEY_PROFILE_kill_signal, "2"), -1);
	ck_assert_int_eq(read_number(PKEY_PROFILE_kill_signal, "SEGV"), -1);
	ck_assert_int_eq(read_number(PKEY_PROFILE_forward, "USR1,SIGKILL"), -1);
	ck_assert_int_eq(read_number(PKEY_PROFILE_forward, "none"), -1);
	for (int i = 0; i < NSIG; i++)
		ck_assert_int_eq(signal_set_has(set, i), i == SIGUSR1 || i == SIGWINCH);
	ck_assert(!signal_set_has(-1, SIGUSR1));
}
END_TEST

/* What the enumerators of a key are called: "PLAN_SHARE_LIST, PLAN_SHARE_ISOLATE". */
static const struct {
	enum profile_key_id id;
	const char *enumerators;
} enums[] = {
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help)
#define KEY_WORDS(section, name, type, ...) {PKEY_##section##_##name, #__VA_ARGS__},
#include "request/profile_keys.def"
#undef PROFILE_KEY
};

/* "list" is PLAN_SHARE_LIST, "cores:COUNT" PLAN_CPU_CORES, "COUNT" PLAN_THREADS_COUNT, "GPU,..."
 * PLAN_GPUS_GPU, "--OPTION" PLAN_PASS_OPTION. */
static bool names_word(struct span enumerator, struct span alternative)
{
	struct span word, rest;

	if (span_starts(alternative, "--"))
		alternative = (struct span){alternative.text + 2, alternative.length - 2};
	span_split(&alternative, ':', &rest);
	span_split(&rest, ',', &word);
	if (enumerator.length <= word.length ||
	    enumerator.text[enumerator.length - word.length - 1] != '_')
		return false;
	for (size_t i = 0; i < word.length; i++)
		if (enumerator.text[enumerator.length - word.length + i] !=
		    toupper((unsigned char)word.text[i]))
			return false;
	return true;
}

START_TEST(enumerators)
{
	const struct profile_key *key = profile_key(enums[_i].id);
	struct span names = span_of(enums[_i].enumerators), name;
	struct span all = span_of(key->key.value), word;

	while (span_split(&all, '|', &word)) {
		ck_assert_msg(span_split(&names, ',', &name), "%s: '%.*s' has no enumerator",
			      key->key.name, (int)word.length, word.text);
		ck_assert_msg(names_word(span_trim(name), word), "%s: '%.*s' is not %.*s",
			      key->key.name, (int)word.length, word.text, (int)name.length,
			      name.text);
	}
	ck_assert_msg(!names.text, "%s: more enumerators than words", key->key.name);
}
END_TEST

START_TEST(values)
{
	static const struct {
		enum profile_key_id id;
		const char *value;
		int word;
		int64_t number;
		const char *text;
	} rows[] = {
		{PKEY_PROFILE_share, "rotate", PLAN_SHARE_ROTATE, -1, "rotate"},
		{PKEY_PROFILE_share, "", PLAN_SHARE_LIST, -1, "list"},
		{PKEY_PROFILE_share, "glass", PLAN_SHARE_LIST, -1, "list"},
		{PKEY_PROFILE_cpu_bind, "cores:4", PLAN_CPU_CORES, 4, "4"},
		{PKEY_PROFILE_cpu_bind, "list:0-3", PLAN_CPU_LIST, -1, "0-3"},
		{PKEY_PROFILE_threads, "keep", PLAN_THREADS_KEEP, -1, "keep"},
		{PKEY_PROFILE_threads, "7", PLAN_THREADS_COUNT, 7, "7"},
		{PKEY_PROFILE_on_fail, "restart:3", PLAN_ON_FAIL_RESTART, 3, "3"},
		{PKEY_PROFILE_on_fail, "restart:x", PLAN_ON_FAIL_KILL, -1, "kill"},
		{PKEY_PROFILE_kill_grace, "1500ms", 0, 1500, "1500ms"},
		{PKEY_PROFILE_master_port, "4000", 2, 4000, "4000"},
		{PKEY_PROGRAM_set_device, "", -1, -1, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct key_value value = key_value(rows[i].id, rows[i].value);
		const char *name = rows[i].value;

		ROW_EQ_INT(name, value.word, rows[i].word);
		ROW_EQ_INT(name, value.number, rows[i].number);
		ck_assert_msg(span_is(value.text, rows[i].text), "%s: '%.*s'", name,
			      (int)value.text.length, value.text.text);
	}
}
END_TEST

START_TEST(hosts)
{
	static const struct {
		const char *list, *host;
		bool match;
	} rows[] = {
		{"tux", "tux", true},
		{"tux", "tux1", false},
		{"tux", "tux.example.org", true},
		{"tux.example.org", "tux.example.org", true},
		{"tux.example.org", "tux", false},
		{"tux[00-03]", "tux02", true},
		{"tux[00-03]", "tux2", false},
		{"tux[00-03]", "tux002", false},
		{"tux[0-3]", "tux02", false},
		{"tux[8-11]", "tux10", true},
		{"tux[8-11]", "tux08", false},
		{"tux[08-11]", "tux8", false},
		{"tux[1,3-4]", "tux3", true},
		{"tux[1,3-4]", "tux2", false},
		{"tux[00-03]", "tux02.example.org", true},
		{"tux[00-03],n1 n2", "n2", true},
		{"rack?-[1-2]", "rack7-2", true},
		{"rack?-[1-2]", "rack7-3", false},
		{"b*,c,a,c", "c", true},
		{"b*,c,a,c", "bc", true},
		{"b*,c,a,c", "d", false},
		{"*.org", "tux.example.org", true},
		{"tux?example.org", "tux.example.org", true},
		{"n[0-1]-ib[0,2]", "n1-ib2", true},
		{"n[0-1]-ib[0,2]", "n1-ib1", false},
		{"n[0-9][0-9]", "n42", true},
		{"a, b ,c", "b", true},
		{"gpu*", "gpu", true},
		{"gpu*", "gpu17", true},
		{"*-gpu?", "rack7-gpu3", true},
		{"*-gpu?", "rack7-gpu33", false},
		{"*", "", false},
		{"****************************a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
		 false},
	};

	struct arena arena = {0};
	struct host_set set;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ROW_EQ_INT(rows[i].list, host_set_parse(&set, &arena, span_of(rows[i].list)),
			   GPUMAP_OK);
		ROW_EQ_INT(rows[i].list, host_set_has(&set, rows[i].host), rows[i].match);
	}
	arena_free(&arena);
}
END_TEST

START_TEST(host_limits)
{
	struct arena arena = {0};
	struct host_set set;
	char name[300];

	ck_assert_int_eq(host_set_parse(&set, &arena, span_of("*")), GPUMAP_OK);
	ck_assert(!host_set_has(&set, NULL));
	memset(name, 'n', sizeof(name));
	name[253] = '\0';
	ck_assert(host_set_has(&set, name));
	name[253] = 'n';
	name[254] = '\0';
	ck_assert(!host_set_has(&set, name));
	ck_assert_int_eq(host_set_parse(&set, &arena, span_of("n[1-")), GPUMAP_EINPUT);
	ck_assert_int_eq(host_set_parse(&set, &arena, span_of("n[1-100000]")), GPUMAP_OK);
	ck_assert(host_set_has(&set, "n99999.example.org"));
	ck_assert(!host_set_has(&set, "n0"));
	ck_assert_int_eq(host_set_parse(&set, &arena, span_of("n[0-100000]")), GPUMAP_ELIMIT);
	arena_free(&arena);
}
END_TEST

START_TEST(globs)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} rows[] = {
		{"", "", true},        {"", "a", false},       {"*", "", true},
		{"?", "", false},      {"?", "a", true},       {"a*c", "abbc", true},
		{"a*c", "acb", false}, {"*a*b", "xaab", true}, {"**", "x", true},
		{"a", "A", false},     {"a?", "a*", true},     {"a*", "ba", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ROW_EQ_INT(rows[i].pattern, span_glob(span_of(rows[i].pattern), rows[i].text),
			   rows[i].match);
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *list;
		int64_t n;
		bool has;
	} rows[] = {
		{"0,2-5", 0, true},  {"0, 2-5", 5, true},  {"0,2-5", 1, false},
		{"0,2-5", 6, false}, {"0,2-5", -1, false}, {"${X},3", 3, true},
		{"5-2", 3, false},   {"-1", -1, false},    {"999999999", 999999999, true},
		{",", 0, false},     {"", 0, false},
	};
	struct arena arena = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ROW_EQ_INT(
			rows[i].list,
			number_set_has(number_set_parse(&arena, span_of(rows[i].list)), rows[i].n),
			rows[i].has);
	arena_free(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("words");
	TCase *tests = tcase_create("words");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, split, 0, ARRAY_SIZE(words));
	tcase_add_loop_test(tests, expand, 0, ARRAY_SIZE(variables));
	tcase_add_loop_test(tests, expand_macro, 0, ARRAY_SIZE(macros));
	tcase_add_test(tests, number_forms);
	tcase_add_test(tests, durations);
	tcase_add_test(tests, signals);
	tcase_add_test(tests, values);
	tcase_add_loop_test(tests, enumerators, 0, ARRAY_SIZE(enums));
	tcase_add_test(tests, hosts);
	tcase_add_test(tests, host_limits);
	tcase_add_test(tests, globs);
	tcase_add_test(tests, numbers);
	return unit_run(suite);
}
