/* SPDX-License-Identifier: MIT */
/* What comes after the files: options, the environment, the combinations of a sweep. */
#include "profiles.h"

#include "memory.h"

static const struct {
	const char *name, *key, *value;
	int code;
	const char *want;
} options[] = {
	{"unknown", "gups", "1", GPUMAP_EKEY,
	 "--x no such key: 'gups'; did you mean gpus? [GM003]\n"},
	{"a parent", "inherit", "a", GPUMAP_EKEY,
	 "--x no such key: 'inherit'; gpumap config help lists the keys [GM003]\n"},
	{"bad", "mode", "x", GPUMAP_EINPUT,
	 "--x cannot be 'x'; write single, dp, ddp or mp [GM002]\n"},
	{"bad variable", "gpus", "${", GPUMAP_EINPUT,
	 "--x ${ without a }: '${'; write $${ for these two characters [GM002]\n"},
};

START_TEST(bad_options)
{
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_new(&p), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set(p, "gpus", "5", "--gpus", report), GPUMAP_OK);
	ROW_EQ_INT(options[_i].name,
		   gpumap_profile_set(p, options[_i].key, options[_i].value, "--x", report),
		   options[_i].code);
	got = findings_text(report);
	ROW_EQ_STR(options[_i].name, got, options[_i].want);
	ck_assert_str_eq(gpumap_profile_setting(p, "gpus", GPUMAP_SETTING_VALUE), "5");
	free(got);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

/* All bad variables are named, and none of the good ones is taken. */
START_TEST(bad_environment)
{
	static const char *const good[] = {"GPUMAP_IDS=index", NULL};
	static const char *const envp[] = {"GPUMAP_MODE=x",   "GPUMAP_IDS=uuid",  "GPUMAP_RANKS=0",
					   "GPUMAP_GUPS=1",   "GPUMAP_VISIBLE=1", "GPUMAP_CONFIG=x",
					   "GPUMAP_DEVICE=1", "noequals",         NULL};
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_new(&p), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set_environ(p, good, report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set_environ(p, envp, report), GPUMAP_EINPUT);
	got = findings_text(report);
	ck_assert_str_eq(got, "GPUMAP_MODE cannot be 'x'; write single, dp, ddp or mp [GM002]\n"
			      "GPUMAP_RANKS cannot be '0'; write auto or a number, 1 or "
			      "more [GM002]\n"
			      "environment no program reads GPUMAP_GUPS; did you mean GPUMAP_GPUS? "
			      "[GM007]\n");
	ck_assert_str_eq(gpumap_profile_setting(p, "ids", GPUMAP_SETTING_VALUE), "index");
	free(got);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

/* Errors that only the environment decides. */
START_TEST(unset_variables)
{
	static const char *const envp[] = {"M=x", "G=1,1", NULL};
	const char text[] = "[profile a]\nprogram=p\nworkdir = ${HERE}\nmode=${M}\ngpus=${G}\n"
			    "[program p]\ncommand = run ${size} '${FINE}' ${ALSO:-x}\n"
			    "[env a]\nX=${GONE}\n[sweep s]\nprofile=a\nsize=1,2\n"
			    "[profile b]\nworkdir=${NOT_ASKED}\n";
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(load_files(&p, text, "a", report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set_environ(p, envp, report), GPUMAP_OK);
	ck_assert_str_eq(gpumap_profile_setting(p, "workdir", GPUMAP_SETTING_VALUE), "${HERE}");
	ck_assert_int_eq(gpumap_profile_check(p, report), GPUMAP_EINPUT);
	got = findings_text(report);
	ck_assert_str_eq(
		got, "t.ini:4 mode cannot be 'x'; write single, dp, ddp or mp [GM002]\n"
		     "t.ini:5 gpus: a GPU is named twice: '1'; name it once, and share it with "
		     "ranks_per_gpu = 2 [GM002]\n"
		     "t.ini:3:11 workdir: the variable HERE is not set; set it, or write "
		     "${NAME:-text} [GM162]\n"
		     "t.ini:7:11 command: the variable size is not set; gpumap run --sweep s sets "
		     "it; or export it [GM162]\n"
		     "t.ini:9:3 X: the variable GONE is not set; set it, or write ${NAME:-text} "
		     "[GM162]\n");
	free(got);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

/* The result of the check after the variable is set. */
static void check_variable(gpumap_profile *p, const char *name, const char *variable,
			   const char *findings)
{
	const char *envp[] = {variable, NULL};
	gpumap_report *report;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_profile_set_environ(p, envp, report), GPUMAP_OK);
	gpumap_profile_check(p, report);
	got = findings_text(report);
	ROW_EQ_STR(name, got, findings);
	free(got);
	gpumap_report_free(report);
}

/* A condition that cannot be read holds nowhere, until it can. */
START_TEST(host_variable)
{
	static const struct {
		const char *variable, *gpus, *findings;
	} rows[] = {
		{"H=n[1-", "0",
		 "t.ini:5 when_host cannot hold 'n[1-'; write names of hosts, as in "
		 "tux[00-03],gpu* [GM002]\n"},
		{"H=n[1-2]", "1", ""},
		{"H=n*", "1", ""},
		{"G=", "0",
		 "t.ini:5:11 when_host: the variable H is not set; set it, or write "
		 "${NAME:-text} [GM162]\n"},
	};
	const char text[] = "[profile a]\ngpus=0\n[override o]\nprofile=a\nwhen_host=x,${H}\n"
			    "gpus=1\n";
	gpumap_profile *p = NULL;

	ck_assert_int_eq(load_files(&p, text, "a", NULL), GPUMAP_OK);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_variable(p, rows[i].variable, rows[i].variable, rows[i].findings);
		ROW_EQ_STR(
			rows[i].variable,
			gpumap_profile_setting_at(p, "gpus", GPUMAP_SETTING_VALUE, "n2", 0, -1, -1),
			rows[i].gpus);
	}
	gpumap_profile_free(p);
}
END_TEST

/* A percent sign counts twice. In what is printed, a byte may take four. */
START_TEST(long_values)
{
	static const struct {
		const char *text;
		char fill;
		size_t length;
		const char *findings;
	} rows[] = {
		{"[profile a]\nworkdir=${V}\n", '\\', 131072, ""},
		{"[profile a]\nworkdir=${V}\n", '%', 65536, ""},
		{"[profile a]\n[env a]\nA=${V}\n", '\x01', 131072, ""},
		{"[profile a]\nworkdir=${V}\n", 'a', 131073,
		 "t.ini:2:9 workdir: with its variables it has more than 131072 bytes; shorten it "
		 "[GM002]\n"},
		{"[profile a]\n[env a]\nA=${V}\n", '%', 65537,
		 "t.ini:3:3 A: with its variables it has more than 131072 bytes; shorten it "
		 "[GM002]\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		gpumap_profile *p = NULL, *again = NULL;
		char *variable = malloc(rows[i].length + 3), *text = NULL;

		memcpy(variable, "V=", 2);
		memset(variable + 2, rows[i].fill, rows[i].length);
		variable[rows[i].length + 2] = '\0';
		ck_assert_int_eq(load_files(&p, rows[i].text, "a", NULL), GPUMAP_OK);
		check_variable(p, rows[i].text, variable, rows[i].findings);
		ROW_EQ_INT(rows[i].text,
			   gpumap_profile_format(&text, p, GPUMAP_FORMAT_INI, 0, NULL), GPUMAP_OK);
		ROW_EQ_INT(rows[i].text,
			   gpumap_profile_parse(&again, text, strlen(text), "again", NULL, NULL),
			   GPUMAP_OK);
		free(variable);
		free(text);
		gpumap_profile_free(p);
		gpumap_profile_free(again);
	}
}
END_TEST

/* "KEY = " and a value of two ends and blanks between them, in a file and as an option ("-": no
 * option has it). */
static const struct {
	const char *section, *key, *begin, *end;
	size_t blanks;
	const char *file, *option;
} lengths[] = {
	{"profile", "workdir", "/", "a", 131070, "", ""},
	{"profile", "workdir", "/", "a", 131071,
	 "t.ini:2:11 a value of 131073 bytes, more than 131072; shorten it [GM002]\n",
	 "--x has a value of 131073 bytes, more than 131072 [GM002]\n"},
	{"profile", "workdir", "$${", "a", 131069, "",
	 "--x has a value of 131073 bytes, more than 131072 [GM002]\n"},
	{"profile", "workdir", "$${", "a", 131070,
	 "t.ini:2:11 a value of 131073 bytes, more than 131072; shorten it [GM002]\n",
	 "--x has a value of 131074 bytes, more than 131072 [GM002]\n"},
	{"profile a]\n[env", "GPUS", "/", "a", 131070, "", "-"},
	{"profile a]\n[env", "GPUS", "/", "a", 131071,
	 "t.ini:3:8 a value of 131073 bytes, more than 131072; shorten it [GM002]\n", "-"},
	{"profile", "hosts", "a,", "b", 131069, "", ""},
	{"profile", "hosts", "a,", "b", 131070, "",
	 "--x has a value of 131073 bytes, more than 131072 [GM002]\n"},
	{"profile", "hosts", "a,", "b", 524287, "",
	 "--x has a value of 524290 bytes, more than 131072 [GM002]\n"},
	{"profile", "hosts", "a,", "b", 524288,
	 "t.ini:2:9 a value of 524291 bytes, more than 524290 [GM039]\n",
	 "--x has a value of 524291 bytes, more than 131072 [GM002]\n"},
	{"program", "command", "/", "a", 524288, "", ""},
	{"program", "command", "/", "a", 524289,
	 "t.ini:2:11 a value of 524291 bytes, more than 524290 [GM039]\n", ""},
	{"program", "command", "/", "a", 4194302,
	 "t.ini:2:11 a value of 4194304 bytes, more than 524290 [GM039]\n", ""},
	{"program", "command", "/", "a", 4194303,
	 "t.ini:2:11 a value of 4194305 bytes, more than 524290 [GM039]\n",
	 "--x has a value of 4194305 bytes, more than 4194304 [GM002]\n"},
};

START_TEST(written_lengths)
{
	CLEANUP_FREE char *name = NULL, *value = NULL, *text = NULL, *in_file = NULL,
			  *as_option = NULL;
	gpumap_report *file, *option;
	gpumap_profile *p = NULL;

	xasprintf(&name, "%s, %zu blanks", lengths[_i].key, lengths[_i].blanks);
	xasprintf(&value, "%s%*s%s", lengths[_i].begin, (int)lengths[_i].blanks, "",
		  lengths[_i].end);
	xasprintf(&text, "[%s a]\n%s = %s\n", lengths[_i].section, lengths[_i].key, value);
	ck_assert_int_eq(gpumap_report_new(&file), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&option), GPUMAP_OK);
	ROW_EQ_INT(name, load_files(&p, text, NULL, file),
		   *lengths[_i].file ? GPUMAP_EINPUT : GPUMAP_OK);
	gpumap_profile_free(p);
	in_file = findings_text(file);
	ROW_EQ_STR(name, in_file, lengths[_i].file);
	ck_assert_int_eq(gpumap_profile_new(&p), GPUMAP_OK);
	if (!streq(lengths[_i].option, "-")) {
		bool bad = *lengths[_i].option;

		ROW_EQ_INT(name, gpumap_profile_set(p, lengths[_i].key, value, "--x", option),
			   bad ? GPUMAP_EINPUT : GPUMAP_OK);
		as_option = findings_text(option);
		ROW_EQ_STR(name, as_option, lengths[_i].option);
		if (!bad)
			ROW_EQ_STR(name,
				   gpumap_profile_setting(p, lengths[_i].key, GPUMAP_SETTING_VALUE),
				   value);
	}
	gpumap_profile_free(p);
	gpumap_report_free(file);
	gpumap_report_free(option);
}
END_TEST

START_TEST(too_many_hosts)
{
	static const char *const envp[] = {"N=99999", NULL};
	const char text[] = "[profile a]\n[override o]\nprofile=a\nwhen_host=n[0-${N}],m[0-9]\n";
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(load_files(&p, text, "a", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set_environ(p, envp, report), GPUMAP_ELIMIT);
	got = findings_text(report);
	ck_assert_str_eq(got, "t.ini:4:11 more than 100000 hosts in the conditions of overrides; "
			      "name fewer, or by a pattern as in tux* [GM005]\n");
	free(got);
	ck_assert_int_eq(gpumap_profile_check(p, NULL), GPUMAP_EINPUT);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

/* A list keeps its quotes, so a variable in it must have a value that a file could hold. */
START_TEST(list_variable)
{
	static const struct {
		const char *variable, *findings;
	} rows[] = {
		{"X=a b", ""},
		{"X=\"a ; b\"", ""},
		{"X=Bob's", ""},
		{"X=a#b;c", ""},
		{"X='a",
		 "t.ini:2 gpus: a quote is not closed: ''a'; close it; \\\" is a quote inside "
		 "\"...\" [GM002]\n"},
		{"X=a \"b", "t.ini:2 gpus: a quote is not closed: '\"b'; close it; \\\" is a quote "
			    "inside \"...\" [GM002]\n"},
		{"X=\"\\q\"", "t.ini:2 gpus: no such escape: '\\q\"'; known are \\\" \\\\ \\n \\t "
			      "\\r \\xNN; '...' keeps backslashes [GM002]\n"},
		{"X=a ; b",
		 "t.ini:2 gpus: a comment begins here: '; b'; put \"...\" around what it "
		 "is part of [GM002]\n"},
		{"X=a\nb", ""},
		{"X= a ", ""},
		{"X=a\x01", "t.ini:2 gpus: no text for a file: '\\x01'; remove it, or write it as "
			    "\\xNN inside \"...\" [GM002]\n"},
		{"X=\xff", "t.ini:2 gpus: no text for a file: '\\xff'; remove it, or write it as "
			   "\\xNN inside \"...\" [GM002]\n"},
	};
	gpumap_profile *p = NULL;

	ck_assert_int_eq(load_files(&p, "[profile a]\ngpus=name:${X}\n", "a", NULL), GPUMAP_OK);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_variable(p, rows[i].variable, rows[i].variable, rows[i].findings);
	}
	gpumap_profile_free(p);
}
END_TEST

/* Written as one flat file and read again, each value is what it was. */
START_TEST(flat_values)
{
	static const struct {
		const char *key, *value, *line;
	} rows[] = {
		{"command", "a 'b c' ${X:-d e} %r", "= a 'b c' ${X:-d e} %r\n"},
		{"command", "sh -c 'a\nb'", "= sh -c \"a\\x0ab\"\n"},
		{"command", "a ; b", "= a \";\" b\n"},
		{"command", "a # b", "= a \"#\" b\n"},
		{"command", "a '${X}\n%r' '' \"\n\\\"\"",
		 "= a \"$${X}\\x0a%%r\" \"\" \"\\x0a\\\"\"\n"},
		{"command", "a it\\'s ${X:-b\nc}", "= a \"it's\" \"${X:-b\\x0ac}\"\n"},
		{"command", "a\\ ", "= \"a \"\n"},
		{"command", " a\tb ", "= a b\n"},
		{"command", "a \xff", "= a \"\\xff\"\n"},
		{"workdir", "\xff", "= \"\\xff\"\n"},
		{"hosts", "n1\nn2\r\n", "= n1 n2\n"},
		{"gpus", " 3 ", "= 3\n"},
		{"program", "$${A}", "\n[program ${A}]\n"},
		{"workdir", "a\nb ; c", "= \"a\\x0ab ; c\"\n"},
		{"gpus", "name:\"a ; b\", 3", "= name:\"a ; b\", 3\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *key = rows[i].key, *value = rows[i].value;
		gpumap_profile *p = NULL, *again = NULL;
		char *first = NULL, *second = NULL;

		ck_assert_int_eq(load_files(&p,
					    "[profile a]\nprogram=p\n[program p]\n[program ${A}]\n",
					    "a", NULL),
				 GPUMAP_OK);
		ROW_EQ_INT(value, gpumap_profile_set(p, key, value, "--x", NULL), GPUMAP_OK);
		ROW_EQ_INT(value, gpumap_profile_format(&first, p, GPUMAP_FORMAT_INI, 0, NULL),
			   GPUMAP_OK);
		ck_assert_msg(strstr(first, rows[i].line), "%s: %s", value, first);
		ROW_EQ_INT(value,
			   gpumap_profile_parse(&again, first, strlen(first), "again", NULL, NULL),
			   GPUMAP_OK);
		ROW_EQ_INT(value, gpumap_profile_format(&second, again, GPUMAP_FORMAT_INI, 0, NULL),
			   GPUMAP_OK);
		ROW_EQ_STR(value, second, first);
		ROW_EQ_INT(value, (int)gpumap_profile_argument_count(again),
			   (int)gpumap_profile_argument_count(p));
		for (size_t k = 0; k < gpumap_profile_argument_count(p); k++)
			ROW_EQ_STR(value, gpumap_profile_argument(again, k),
				   gpumap_profile_argument(p, k));
		free(first);
		free(second);
		gpumap_profile_free(p);
		gpumap_profile_free(again);
	}
}
END_TEST

START_TEST(sweep)
{
	const char text[] =
		"[profile a]\nprogram=p\nranks=${n}\n[program p]\ncommand=r ${x} ${y}\n"
		"[sweep s]\nprofile=a\njobs=2\nx = 60, \"8, 0\"\ny = 1, '', 3\nn=4\nx_site=1\n";
	static const char *const want[] = {"60 1", "60 ", "60 3", "8, 0 1", "8, 0 ", "8, 0 3"};
	const gpumap_section *s;
	gpumap_profile *p = NULL;

	ck_assert_int_eq(load_files(&p, text, NULL, NULL), GPUMAP_OK);
	s = gpumap_profile_section(p, "sweep", 0);
	ck_assert_uint_eq(gpumap_sweep_combination_count(s), 6);
	ck_assert_int_eq(gpumap_sweep_jobs(s), 2);
	ck_assert_str_eq(gpumap_sweep_variable(s, 1), "y");
	ck_assert_ptr_null(gpumap_sweep_variable(s, 3));
	ck_assert_ptr_null(gpumap_sweep_value(s, 6, 0));
	for (size_t i = 0; i < 6; i++) {
		char got[64];

		ck_assert_int_eq(gpumap_profile_set_sweep(p, "s", i, NULL), GPUMAP_OK);
		ck_assert_int_eq(gpumap_profile_check(p, NULL), GPUMAP_OK);
		snprintf(got, sizeof(got), "%s %s", gpumap_profile_argument(p, 1),
			 gpumap_profile_argument(p, 2));
		ck_assert_str_eq(got, want[i]);
		ck_assert_str_eq(gpumap_profile_setting(p, "ranks", GPUMAP_SETTING_VALUE), "4");
	}
	ck_assert_int_eq(gpumap_profile_set_sweep(p, "s", 6, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_profile_set_sweep(p, "t", 0, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_profile_set_sweep(p, NULL, 0, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_check(p, NULL), GPUMAP_EINPUT);
	gpumap_profile_free(p);
}
END_TEST

START_TEST(unused_sweep)
{
	const char text[] = "[profile a]\n[sweep s]\nprofile=a\njob=2\nranks=1,2\nz=1\n";
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(load_files(&p, text, NULL, report), GPUMAP_OK);
	got = findings_text(report);
	ck_assert_str_eq(got, "t.ini:4:5 nothing uses ${job}; did you mean jobs? [GM166]\n"
			      "t.ini:5:7 nothing uses ${ranks}; write ranks = ${ranks} into the "
			      "profile or program [GM166]\n"
			      "t.ini:6:3 nothing uses ${z}; write it into the command [GM166]\n");
	free(got);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profile-set");
	TCase *tests = tcase_create("profile-set");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, bad_options, 0, ARRAY_SIZE(options));
	tcase_add_test(tests, bad_environment);
	tcase_add_test(tests, unset_variables);
	tcase_add_test(tests, host_variable);
	tcase_add_test(tests, long_values);
	tcase_add_loop_test(tests, written_lengths, 0, ARRAY_SIZE(lengths));
	tcase_add_test(tests, too_many_hosts);
	tcase_add_test(tests, list_variable);
	tcase_add_test(tests, flat_values);
	tcase_add_test(tests, sweep);
	tcase_add_test(tests, unused_sweep);
	return unit_run(suite);
}
