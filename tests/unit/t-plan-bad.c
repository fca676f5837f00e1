/* SPDX-License-Identifier: MIT */
/* Files that are not plans, or are cut: refused with a line, and never read in part. */
#include <stdio.h>

#include "jobs.h"
#include "profiles.h"
#include "unit.h"

#define FILES \
	"[profile p]\nprogram=t\n[program t]\ndevice=cuda:%l\ncommand=t\n[env p]\nA=1\n" \
	"[override r]\nprofile=p\nwhen_rank=1\nlog_dir=/l\n"

static char *small_plan(void)
{
	struct job_scene scene;
	char *text = NULL;

	job_set(&scene, FILES, "a=2 + b[1-2]=1", "");
	job_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert_int_eq(gpumap_plan_format(&text, scene.plan, GPUMAP_FORMAT_JSON,
					    GPUMAP_FORMAT_FLAG_ORIGINS, scene.report),
			 GPUMAP_OK);
	job_free(&scene);
	return text;
}

/* The code of reading; the findings in *found. */
static int read_text(const char *text, size_t size, char **found)
{
	gpumap_plan *plan = NULL;
	gpumap_report *report = NULL;
	int r;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	r = gpumap_plan_parse(&plan, text, size, "p.json", report);
	ck_assert_msg((r == GPUMAP_OK) == (plan != NULL), "%d", r);
	ck_assert(r == GPUMAP_OK || gpumap_report_worst(report) == GPUMAP_SEVERITY_ERROR);
	*found = findings_text(report);
	gpumap_plan_free(plan);
	gpumap_report_free(report);
	return r;
}

START_TEST(cut_short)
{
	char *text = small_plan(), *found;
	size_t length = strlen(text);

	while (length && text[length - 1] != '}')
		length--;
	ck_assert_int_eq(read_text(text, length, &found), GPUMAP_OK);
	free(found);
	for (size_t n = 0; n < length; n++) {
		char *piece = malloc(n ? n : 1);

		memcpy(piece, text, n);
		ck_assert_msg(read_text(piece, n, &found) == GPUMAP_EINPUT, "%zu bytes", n);
		ck_assert_msg(strstr(found, "[GM193]"), "%zu bytes: %s", n, found);
		free(found);
		free(piece);
	}
	free(text);
}
END_TEST

static const struct {
	const char *from, *to, *line; /* line: NULL where it is taken */
} rows[] = {
	{"\"schema\":1", "\"schema\":2", "another version of gpumap wrote it"},
	{"\"schema\":1", "\"schema\":\"1\"", "'schema' has the wrong type"},
	{"\"schema\":1,", "", "'schema' is missing"},
	{"\"kind\":\"plan\"", "\"kind\":\"mapping\"", "'kind' is not a plan"},
	{"\"mode\":\"ddp\"", "\"mode\":\"dp\"", "'mode' does not fit"},
	{"\"answered\":true", "\"answered\":1", "'answered' has the wrong type"},
	{"\"answered\":true,", "", "'answered' is missing"},
	{"\"world_size\":4", "\"world_size\":5", "'world_size' does not fit the hosts"},
	{"\"world_size\":4", "\"world_size\":99999999999999999999", "truncated"},
	{"\"world_size\":4", "\"world_size\":4.0", "'world_size' has the wrong type"},
	{"\"first_rank\":2", "\"first_rank\":9", "'first_rank' does not fit"},
	{"\"first_rank\":2", "\"first_rank\":-1", "'first_rank' is out of range"},
	{"\"local_size\":2", "\"local_size\":3", "'first_rank' does not fit"},
	{"\"same_as\":1", "\"same_as\":2", "'same_as' names no earlier host"},
	{"\"same_as\":1", "\"same_as\":9223372036854775807", "'same_as' is out of range"},
	{"\"same_as\":1", "\"same_as\":-1", "'same_as' is out of range"},
	{"\"name\":\"a\"", "\"name\":null", "'name' is missing"},
	{"\"name\":\"a\"", "\"name\":\"a\\u0000b\"", "not a plan, or truncated"},
	{"\"name\":\"a\"", "\"name\":\"a\",\"name\":\"c\"", "not a plan, or truncated"},
	{"\"name\":\"a\"", "\"name\":\"\\u001b[2J\"", NULL},
	{"\"master_port\":29500", "\"master_port\":65536", "'master_port' is out of range"},
	{"\"master_port\":29500", "\"master_port\":0", "'master_port' is out of range"},
	{"\"master_port\":29500", "\"master_port\":null", "several hosts"},
	{"\"visible\":\"0,1\"", "\"visible\":null", "'visible' is missing"},
	{"\"visible\":\"0,1\"", "\"visible\":0", "'visible' has the wrong type"},
	{"\"logical\":0", "\"logical\":-4", "'logical' is out of range"},
	{"\"threads\":null", "\"threads\":4294967296", "'threads' is out of range"},
	{"\"arguments\":[\"t\"]", "\"arguments\":[7]", "'arguments' are not texts"},
	{"\"arguments\":[\"t\"]", "\"arguments\":{}", "'arguments' has the wrong type"},
	{"\"name\":\"A\"", "\"name\":\"A=B\"", "'environment' names no variable"},
	{"\"name\":\"A\"", "\"name\":\"\"", "'environment' names no variable"},
	{"\"key\":\"log_dir\"", "\"key\":\"nothing\"", "of no setting, or out of order"},
	{"\"rank\":1,\"key\"", "\"rank\":4,\"key\"", "of no setting, or out of order"},
	{"\"id\":\"GM192\"", "\"id\":\"GM192x\"", "'findings' are of another version"},
	{"\"id\":\"GM192\"", "\"id\":\"GM186\"", "'answered' does not fit the findings"},
};

/* The text with the first `from` replaced. */
static char *with(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	struct strbuf buf = {0};

	ck_assert_msg(at, "no %s in %s", from, text);
	strbuf_add(&buf, text, (size_t)(at - text));
	strbuf_puts(&buf, to);
	strbuf_puts(&buf, at + strlen(from));
	return strbuf_take(&buf);
}

START_TEST(wrong)
{
	char *text = small_plan(), *changed = with(text, rows[_i].from, rows[_i].to), *found;
	int r = read_text(changed, strlen(changed), &found);

	ck_assert_msg(r == (rows[_i].line ? GPUMAP_EINPUT : GPUMAP_OK), "%s gives %d: %s",
		      rows[_i].to, r, found);
	if (rows[_i].line)
		ck_assert_msg(strstr(found, rows[_i].line) && strstr(found, "p.json") &&
				      strstr(found, "gpumap plan -o"),
			      "%s: %s", rows[_i].to, found);
	free(found);
	free(changed);
	free(text);
}
END_TEST

static const char *const others[] = {
	"",
	"{}",
	"[]",
	"null",
	"0",
	"{\"schema\":1}",
	"{\"schema\": 1, \"kind\":\"plan\"}",
	"\xff",
	"{\"schema\": 1, \"kind\":\"plan\",\"hosts\":[{}]}",
	"{\"schema\": 1, \"kind\":\"plan\",\"hosts\":[[[[[[]]]]]]}",
};

START_TEST(no_plan)
{
	char *found;

	ck_assert_msg(read_text(others[_i], strlen(others[_i]), &found) == GPUMAP_EINPUT, "%s",
		      others[_i]);
	ck_assert_msg(strstr(found, "[GM193]"), "%s: %s", others[_i], found);
	free(found);
}
END_TEST

/* A plan that could not be made is written as one without hosts. */
START_TEST(nothing)
{
	char *text = NULL, *found;

	ck_assert_int_eq(gpumap_plan_format(&text, NULL, GPUMAP_FORMAT_JSON, 0, NULL), GPUMAP_OK);
	ck_assert_int_eq(read_text(text, strlen(text), &found), GPUMAP_EINPUT);
	free(found);
	free(text);
}
END_TEST

/* Text from a stranger's file cannot control a terminal. */
START_TEST(control_characters)
{
	static const char *const members[][2] = {
		{"\"name\":\"a\"", "\"name\":\"\\u001b[2J\\nx\""},
		{"\"master_addr\":\"a\"", "\"master_addr\":\"\\u001b[2J\""},
		{"\"profile\":\"p\"", "\"profile\":\"\\u001b[2J\""},
		{"\"visible\":\"0,1\"", "\"visible\":\"\\u001b[2J\""},
		{"\"cpus\":null", "\"cpus\":\"\\u001b[2J\""},
		{"\"device_order\":\"PCI_BUS_ID\"", "\"device_order\":\"\\u001b[2J\""},
		{"\"arguments\":[\"t\"]", "\"arguments\":[\"\\u001b[2J\"]"},
		{"\"name\":\"A\"", "\"name\":\"\\u001b[2J\""},
		{"\"origin\":\"default\"", "\"origin\":\"\\u001b[2J\""},
		{"\"rule\":\"R4\"", "\"rule\":\"\\u001b[2J\""},
		{"\"text\":\"rank = ", "\"text\":\"\\u001b[2J"},
		{"\"value\":\"/l\"", "\"value\":\"\\u001b[2J\""},
	};
	char *text = small_plan();

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		char *changed = with(text, members[i][0], members[i][1]), *shown = NULL;
		gpumap_plan *plan = NULL;

		ck_assert_msg(gpumap_plan_parse(&plan, changed, strlen(changed), "p", NULL) ==
				      GPUMAP_OK,
			      "%s", members[i][1]);
		ck_assert_int_eq(gpumap_plan_format(&shown, plan, GPUMAP_FORMAT_TEXT,
						    GPUMAP_FORMAT_FLAG_ORIGINS, NULL),
				 GPUMAP_OK);
		ck_assert_msg(!strchr(shown, 033), "%s: %s", members[i][1], shown);
		ck_assert_msg(strstr(shown, "\\x1b"), "%s: %s", members[i][1], shown);
		free(shown);
		free(changed);
		gpumap_plan_free(plan);
	}
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-bad");
	TCase *tests = tcase_create("plan-bad");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, cut_short);
	tcase_add_loop_test(tests, wrong, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, no_plan, 0, (int)ARRAY_SIZE(others));
	tcase_add_test(tests, nothing);
	tcase_add_test(tests, control_characters);
	return unit_run(suite);
}
