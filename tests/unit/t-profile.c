/* SPDX-License-Identifier: MIT */
/* Profiles that are well-formed: which value wins, and its origin. */
#include "profiles.h"

/* `ask`: lines "KEY[@HOST[/NODE[/RANK[/LOCAL]]]] = VALUE <- ORIGIN"; "argv", "env" and "name"
 * are asked as a whole. */
static const struct {
	const char *name, *files, *profile, *environment, *options, *want;
} rows[] = {
	{"nothing", "", NULL, "", "",
	 "name=-\nmode=ddp <- default\ngpus=inherit <- default\nranks=auto <- default\n"
	 "kill_grace=30s <- default\nlog_file=rank-%05r.%s.log <- default\nargv=\nenv=\n"},
	{"one profile needs no default", "[profile a]\ngpus = 2,3\n", NULL, "", "",
	 "name=a\ngpus=2,3 <- t.ini:2\n"},
	{"several without a default", "[profile a]\ngpus = 2\n[profile b]\n", NULL, "", "",
	 "name=-\ngpus=inherit <- default\n"},
	{"the default", "[gpumap]\ndefault = b\n[profile a]\n[profile b]\ngpus = 7\n", NULL, "", "",
	 "name=b\ngpus=7 <- t.ini:5\n"},
	{"the name asked for", "[gpumap]\ndefault=b\n[profile a]\nids=index\n[profile b]\n", "a",
	 "", "", "name=a\nids=index <- t.ini:4\n"},
	{"inheritance, nearest first",
	 "[profile c]\ninherit=b\n[profile a]\ngpus=1\norder=pci\nshare=rotate\n"
	 "[profile b]\ninherit=a\ngpus=2,3\norder=\n",
	 "c", "", "", "gpus=2,3 <- t.ini:9\norder=listed <- t.ini:10\nshare=rotate <- t.ini:6\n"},
	{"eight in a chain",
	 "[profile a]\nids=index\n[profile b]\ninherit=a\n[profile c]\ninherit=b\n[profile d]\n"
	 "inherit=c\n[profile e]\ninherit=d\n[profile f]\ninherit=e\n[profile g]\ninherit=f\n"
	 "[profile h]\ninherit=g\n",
	 "h", "", "", "ids=index <- t.ini:2\n"},
	{"option > variable > override > profile",
	 "[profile a]\nids=uuid\nshare=list\norder=pci\nthreads=1\n"
	 "[override o]\nprofile=a\nids=index\nshare=isolate\norder=numa\n",
	 NULL, "GPUMAP_IDS=uuid\nGPUMAP_SHARE=rotate\nGPUMAP_IDS=index\n", "ids=index",
	 "ids=index <- --ids\nshare=rotate <- GPUMAP_SHARE\norder=numa <- t.ini:10\n"
	 "threads=1 <- t.ini:5\n"},
	{"empty values reset", "[profile a]\ngpus=2\nids=index\nshare=rotate\n", NULL,
	 "GPUMAP_IDS=\n",
	 "gpus=", "gpus=inherit <- --gpus\nids=uuid <- GPUMAP_IDS\nshare=rotate <- t.ini:4\n"},
	{"values that variables make empty reset too",
	 "[profile a]\ngpus=2\nids=${N:-}\nshare=${E}\n[profile b]\ninherit=a\ngpus=${E:-}\n", "b",
	 "E=\n", "", "gpus=inherit <- t.ini:7\nids=uuid <- t.ini:3\nshare=list <- t.ini:4\n"},
	{"overrides: the later one, where its conditions hold",
	 "[profile a]\ngpus=0\n[override x]\nprofile=a\nwhen_host=tux[00-03]\ngpus=1\n"
	 "[override y]\nprofile=b, a\nwhen_host=tux*\nwhen_node=1,4-5\ngpus=2\n"
	 "[override z]\nprofile=b\ngpus=3\n[profile b]\n"
	 "[override r]\nprofile=*\nwhen_rank=0\nwhen_local_rank=0\nworkdir=/d\n",
	 "a", "", "",
	 "gpus=0 <- t.ini:2\ngpus@tux02/0=1 <- t.ini:6\ngpus@tux02.cluster/0=1 <- t.ini:6\n"
	 "gpus@tux04/0=0 <- t.ini:2\ngpus@tux2/0=0 <- t.ini:2\ngpus@tux01/5=2 <- t.ini:11\n"
	 "gpus@gpu1/1=0 <- t.ini:2\nworkdir@h/0/0/0=/d <- t.ini:20\n"
	 "workdir@h/1/0/1=. <- default\n"},
	{"a condition with a variable",
	 "[profile a]\ngpus=0\n[override x]\nprofile=a\nwhen_host=${HOSTS},b*\ngpus=1\n", NULL,
	 "HOSTS=tux[08-11]\n", "",
	 "gpus@tux10/0=1 <- t.ini:6\ngpus@tux7/0=0 <- t.ini:2\ngpus@b2/0=1 <- t.ini:6\n"},
	{"overrides of a parent hold too",
	 "[profile a]\n[profile b]\ninherit=a\nids=uuid\n[override o]\nprofile=a\nids=index\n", "b",
	 "", "", "ids=index <- t.ini:7\n"},
	{"a program",
	 "[profile a]\nprogram=p\n[program q]\ndevice=cuda:1\n[program p]\ndevice=cuda:%l\n"
	 "set_device=%l\ncommand = run 'a b' \"c \\\"d\\\"\" e\\ f ${X} '${X}' ${Y:-g h} %l%% "
	 "'%l'\n",
	 NULL, "X=1 2 %\n", "",
	 "device=cuda:%l <- t.ini:6\nset_device=%l <- t.ini:7\ndevice_ids= <- default\n"
	 "argv=run|a b|c \"d\"|e f|1 2 %%|${X}|g h|%l%%|%%l|\n"},
	{"quotes protect what no variable could be",
	 "[profile a]\nprogram=p\n[program p]\ncommand = sh -c 'echo ${X-none} ${#X}' $${Y\n", NULL,
	 "", "", "argv=sh|-c|echo ${X-none} ${#X}|${Y|\n"},
	{"another program",
	 "[profile a]\nprogram=p\n[program p]\ndevice=0\n[program q]\ndevice=1\n", NULL, "",
	 "program=q", "program=q <- --program\ndevice=1 <- t.ini:6\n"},
	{"a command by option", "", NULL, "", "command=true 'a # b'",
	 "command=true 'a # b' <- --command\nargv=true|a # b|\n"},
	{"environment",
	 "[profile a]\n[env a]\nA=1\nB=${H}/b\nC=c\n[unset a]\nD=\nE=\n[profile b]\ninherit=a\n"
	 "[env b]\nD = d # no\nC =\nM = /tmp/%r\n[unset b]\nB\t=\n",
	 "b", "H=/home\n", "",
	 "env=D=d <- t.ini:12|-E <- t.ini:8|A=1 <- t.ini:3|-B <- t.ini:16|C= <- t.ini:13|"
	 "M=/tmp/%r <- t.ini:14|\n"},
	{"variables",
	 "[profile a]\nworkdir = ${HOME}/x${N:-}${O:-o}$${P}$Q$\nlog_dir=${PC}\ngpus=${G}\n", NULL,
	 "HOME=/h\nG=2, 3\nN=\nO=\nPC=50%\n", "",
	 "workdir=/h/xo${P}$Q$ <- t.ini:2\nlog_dir=50%% <- t.ini:3\ngpus=2, 3 <- t.ini:4\n"},
	{"includes",
	 "[gpumap]\ndefault=a\ninclude = ./lib/site.ini, ?none.ini\n[override mine]\nprofile=*\n"
	 "ids=uuid\n"
	 "== lib/site.ini\n[gpumap]\nschema=1\ndefault=s\ninclude=more.ini\n[profile s]\nids=uuid\n"
	 "[override theirs]\nprofile=s\nids=index\nshare=rotate\n"
	 "== lib/more.ini\n[profile a]\ninherit=s\n",
	 NULL, "", "", "name=a\nids=uuid <- t.ini:6\nshare=rotate <- lib/site.ini:10\n"},
	{"a file that two include is read once",
	 "[gpumap]\ninclude = b.ini, c.ini\n== b.ini\n[gpumap]\ninclude=d.ini\n== c.ini\n[gpumap]\n"
	 "include=d.ini\n== d.ini\n[profile d]\nids=index\n",
	 NULL, "", "", "name=d\nids=index <- d.ini:2\n"},
	{"quotes, comments, indentation",
	 "  [profile a] ; the one\n\tworkdir = \"/a # b ; c\"   # a comment\n    gpus   = "
	 "name:\"NVIDIA H100, #1\", 3 ; c\n  log_dir = x#y\n",
	 NULL, "", "",
	 "workdir=/a # b ; c <- t.ini:2\ngpus=name:\"NVIDIA H100, #1\", 3 <- t.ini:3\n"
	 "log_dir=x#y <- t.ini:4\n"},
	{"] in a name", "[profile node[0-1]]\nids=index\n[env node[0-1]]\nA=1\n", NULL, "", "",
	 "name=node[0-1]\nids=index <- t.ini:2\nenv=A=1 <- t.ini:4|\n"},
	{"sites", "[x_site]\nanything=1\nthis too=\n[profile a]\nx_owner = me\nids=index\n", NULL,
	 "", "", "!"},
	{"sites' keys", "[x_site]\nanything=1\n[profile a]\nx_owner = me\nids=index\n", NULL, "",
	 "", "ids=index <- t.ini:5\n"},
	{"values of all forms",
	 "[profile a]\nmode=mp\ngpus=GPU-9f1c,MIG-0a-1,MIG-GPU-0a/1/0,pci:0000:1B:00.0,name:x*\n"
	 "order=nvlink\non_conflict=intersect\nranks=4\nranks_per_gpu=2\nhosts=tux[08-11,3],gpu1\n"
	 "inventory=snap/%h.ini\nshare=isolate\nids=index\ncpu_bind=cores:4\nmem_bind=strict\n"
	 "threads=keep\nmaster_addr=10.0.0.1\nmaster_port=29500\nworkdir=/w\nkill_signal=SIGINT\n"
	 "kill_grace=1500ms\non_fail=restart:3\nforward=none\ntimeout=2h\nlog_dir=/l\n"
	 "log_file=%n-%03l-%h-%j.%s\nconsole=collapse\nlauncher=srun\n"
	 "pass_local_rank=--local_rank\n",
	 NULL, "", "",
	 "hosts=tux[08-11,3],gpu1 <- t.ini:8\npass_local_rank=--local_rank <- t.ini:27\n"},
	{"hosts of a file", "[profile a]\nhosts = file:hosts.txt\ncpu_bind=list:0-7,64\n", NULL, "",
	 "", "hosts=file:hosts.txt <- t.ini:2\n"},
};

static void add_place(struct strbuf *out, const gpumap_profile *p, const char *query)
{
	char key[64], host[64] = "";
	long long at[3] = {-1, -1, -1};

	ck_assert_int_ge(
		sscanf(query, "%63[^@]@%63[^/]/%lld/%lld/%lld", key, host, &at[0], &at[1], &at[2]),
		1);
	strbuf_printf(out, "%s=%s <- %s\n", query,
		      gpumap_profile_setting_at(p, key, GPUMAP_SETTING_VALUE, *host ? host : NULL,
						at[0], at[1], at[2]),
		      gpumap_profile_setting_at(p, key, GPUMAP_SETTING_ORIGIN, *host ? host : NULL,
						at[0], at[1], at[2]));
}

static void add_env(struct strbuf *out, const gpumap_profile *p)
{
	strbuf_puts(out, "env=");
	for (size_t i = 0; i < gpumap_profile_variable_count(p); i++) {
		const char *value = gpumap_profile_variable(p, i, GPUMAP_SETTING_VALUE);

		strbuf_printf(out, "%s%s%s%s <- %s|", value ? "" : "-",
			      gpumap_profile_variable(p, i, GPUMAP_SETTING_NAME), value ? "=" : "",
			      value ? value : "",
			      gpumap_profile_variable(p, i, GPUMAP_SETTING_ORIGIN));
	}
	strbuf_puts(out, "\n");
}

/* The answers to the questions that `want` asks. */
static char *answers(const gpumap_profile *p, const char *want)
{
	struct strbuf out = {0};

	for (; *want; want += strcspn(want, "\n") + 1) {
		char query[128];

		snprintf(query, sizeof(query), "%.*s", (int)strcspn(want, "="), want);
		if (streq(query, "name")) {
			strbuf_printf(&out, "name=%s\n",
				      gpumap_profile_str(p, GPUMAP_PROFILE_NAME)
					      ? gpumap_profile_str(p, GPUMAP_PROFILE_NAME)
					      : "-");
		} else if (streq(query, "argv")) {
			strbuf_puts(&out, "argv=");
			for (size_t i = 0; i < gpumap_profile_argument_count(p); i++)
				strbuf_printf(&out, "%s|", gpumap_profile_argument(p, i));
			strbuf_puts(&out, "\n");
		} else if (streq(query, "env")) {
			add_env(&out, p);
		} else {
			add_place(&out, p, query);
		}
	}
	return strbuf_take(&out);
}

static void apply(gpumap_profile *p, const char *row, const char *environment, const char *options,
		  gpumap_report *report)
{
	char lines[512], option[64], *envp[16] = {0}, *rest = lines;
	const char *equals = strchr(options, '=');
	size_t n = 0;

	snprintf(lines, sizeof(lines), "%s", environment);
	while (*rest) {
		envp[n++] = rest;
		rest += strcspn(rest, "\n");
		*rest++ = '\0';
	}
	ROW_EQ_INT(row, gpumap_profile_set_environ(p, (const char *const *)envp, report),
		   GPUMAP_OK);
	if (!equals)
		return;
	snprintf(option, sizeof(option), "--%.*s", (int)(equals - options), options);
	ROW_EQ_INT(row, gpumap_profile_set(p, option + 2, equals + 1, option, report), GPUMAP_OK);
}

START_TEST(good)
{
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got, *findings;
	int r;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	r = load_files(&p, rows[_i].files, rows[_i].profile, report);
	if (streq(rows[_i].want, "!")) {
		ROW_EQ_INT(rows[_i].name, r, GPUMAP_EINPUT);
		gpumap_report_free(report);
		return;
	}
	findings = findings_text(report);
	ROW_EQ_STR(rows[_i].name, findings, "");
	ROW_EQ_INT(rows[_i].name, r, GPUMAP_OK);
	apply(p, rows[_i].name, rows[_i].environment, rows[_i].options, report);
	ROW_EQ_INT(rows[_i].name, gpumap_profile_check(p, report), GPUMAP_OK);
	got = answers(p, rows[_i].want);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	free(got);
	free(findings);
	gpumap_profile_free(p);
	gpumap_report_free(report);
}
END_TEST

/* What is printed reads back to the same, and prints the same again. */
START_TEST(round_trip)
{
	static const char *const envp[] = {"X=a b", "H=/h ${X} %", NULL};
	gpumap_profile *p = NULL, *again = NULL;
	char *first, *second;

	if (load_files(&p, rows[_i].files, rows[_i].profile, NULL) != GPUMAP_OK)
		return;
	ck_assert_int_eq(gpumap_profile_set_environ(p, envp, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_format(&first, p, GPUMAP_FORMAT_INI, 0, NULL), GPUMAP_OK);
	ck_assert_msg(gpumap_profile_parse(&again, first, strlen(first), "again.ini", NULL, NULL) ==
			      GPUMAP_OK,
		      "%s: not read back:\n%s", rows[_i].name, first);
	ck_assert_int_eq(gpumap_profile_set_environ(again, envp, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_format(&second, again, GPUMAP_FORMAT_INI, 0, NULL),
			 GPUMAP_OK);
	ROW_EQ_STR(rows[_i].name, second, first);
	free(first);
	free(second);
	gpumap_profile_free(p);
	gpumap_profile_free(again);
}
END_TEST

START_TEST(long_value)
{
	struct strbuf text = {0};
	gpumap_profile *p = NULL;
	const char *value;
	char *whole;

	strbuf_puts(&text, "[profile a]\nworkdir = ");
	for (int i = 0; i < 65536; i++)
		strbuf_puts(&text, "w");
	strbuf_puts(&text, "\nids = index\n");
	whole = strbuf_take(&text);
	ck_assert_int_eq(load_files(&p, whole, NULL, NULL), GPUMAP_OK);
	value = gpumap_profile_setting(p, "workdir", GPUMAP_SETTING_VALUE);
	ck_assert_uint_eq(strlen(value), 65536);
	ck_assert_str_eq(gpumap_profile_setting(p, "ids", GPUMAP_SETTING_ORIGIN), "t.ini:3");
	free(whole);
	gpumap_profile_free(p);
}
END_TEST

START_TEST(every_key)
{
	gpumap_profile *p = NULL;

	ck_assert_int_eq(gpumap_profile_new(&p), GPUMAP_OK);
	for (int i = SETTING_FIRST; i < SETTING_END; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);
		struct about about = {.line = 0};

		if (i == PKEY_PROFILE_inherit)
			continue;
		ROW_EQ_INT(key->key.name,
			   profile_value_check(key, span_of(key->key.initial), &about, NULL),
			   GPUMAP_OK);
		ROW_EQ_STR(key->key.name,
			   gpumap_profile_setting(p, key->key.name, GPUMAP_SETTING_VALUE),
			   key->key.initial);
		ROW_EQ_STR(key->key.name,
			   gpumap_profile_setting(p, key->key.name, GPUMAP_SETTING_ORIGIN),
			   "default");
		ck_assert_ptr_nonnull(key->key.option);
		ck_assert_ptr_nonnull(key->key.environment);
	}
	ck_assert_ptr_null(gpumap_profile_setting(p, "nope", GPUMAP_SETTING_VALUE));
	gpumap_profile_free(p);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profile");
	TCase *tests = tcase_create("profile");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, good, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, round_trip, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, long_value);
	tcase_add_test(tests, every_key);
	return unit_run(suite);
}
