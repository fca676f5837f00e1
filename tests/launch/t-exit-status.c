/* SPDX-License-Identifier: MIT */
/* The report about ranks that failed. The ends of processes are made up, so all runs are alike. */
#include <signal.h>

#include "report/report.h"
#include "strbuf.h"
#include "supervise.h"
#include "unit.h"

enum { RANKS = 512 };
#define SECOND 1000000000LL

/* Of 512 ranks every `step`-th below `end` failed and counts as first. Higher ranks ended
 * earlier. */
static const struct {
	const char *name;
	size_t end, step;
	int status; /* of those; -N: signal N ended them */
	enum launch_cause cause;
	int refusal; /* 0: none was refused */
	size_t left_behind;
	int want;
	const char *text;
} rows[] = {
	{"none", 0, 1, 0, LAUNCH_DONE, 0, 0, 0, ""},
	{"one", 1, 1, 3, LAUNCH_DONE, 0, 0, 3,
	 "GM170 rank 0 (pid 1000) ended with status 3 after 9.000 s\n"},
	{"two", 8, 4, 3, LAUNCH_DONE, 0, 0, 3,
	 "GM170 rank 0 (pid 1000) ended with status 3 after 9.000 s\n"
	 "GM170 rank 4 (pid 1004) ended with status 3 after 8.996 s\n"},
	{"eight", 8, 1, 1, LAUNCH_DONE, 0, 0, 1, "8*"},
	{"nine", 9, 1, 1, LAUNCH_DONE, 0, 0, 1, "8* GM170 so did 1 more within 100 ms\n"},
	{"all", RANKS, 1, 1, LAUNCH_DONE, 0, 0, 1, "8* GM170 so did 504 more within 100 ms\n"},
	{"a signal", 1, 1, -SIGSEGV, LAUNCH_DONE, 0, 0, 128 + SIGSEGV,
	 "GM170 rank 0 (pid 1000) was ended by SIGSEGV after 9.000 s\n"},
	{"processes left", 0, 1, 0, LAUNCH_DONE, 0, 3, 0,
	 "GM176 3 processes that outlived their ranks were ended\n"},
	{"refused", 0, 1, 0, LAUNCH_REFUSED, 127, 0, 127, ""},
	{"broken", 0, 1, 0, LAUNCH_BROKEN, 0, 0, 125, ""},
	{"stopped", 0, 1, 0, LAUNCH_SIGNALLED, 0, 0, 128 + SIGINT,
	 "GM179 the run was stopped by SIGINT\n"},
	{"the limit, after a failure", 1, 1, 2, LAUNCH_TIMED_OUT, 0, 0, 124,
	 "GM170 rank 0 (pid 1000) ended with status 2 after 9.000 s\n"
	 "GM179 the time limit of 0.05 s was reached\n"},
};

/* Lines "ID text"; if there are eight or more, "8*" stands for the first eight. */
static char *findings(const gpumap_report *report)
{
	struct strbuf buf = {0};
	size_t count = gpumap_report_count(report), skip = count >= 8 ? 8 : 0;

	if (skip)
		strbuf_puts(&buf, count > skip ? "8* " : "8*");
	for (size_t i = 0; i < count; i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *text = gpumap_finding_str(f, GPUMAP_FINDING_TEXT);

		if (i < skip)
			ck_assert_msg(starts_with(text, "rank "), "%s", text);
		else
			strbuf_printf(&buf, "%s %s\n", gpumap_finding_str(f, GPUMAP_FINDING_ID),
				      text);
	}
	return strbuf_take(&buf);
}

START_TEST(conclusions)
{
	const char *name = rows[_i].name;
	static struct launch_rank ranks[RANKS];
	static struct launch_exit exits[RANKS];
	const struct launch launch = {.ranks = ranks, .count = RANKS, .timeout_ms = 50};
	struct launch_result result = {.ranks = exits,
				       .count = RANKS,
				       .cause = rows[_i].cause,
				       .signal = SIGINT,
				       .left_behind = rows[_i].left_behind};
	struct supervisor s = {.launch = &launch,
			       .result = &result,
			       .refused = rows[_i].refusal,
			       .refusal = rows[_i].refusal};
	char *got;

	for (int i = 0; i < RANKS; i++) {
		bool first = (size_t)i < rows[_i].end && (size_t)i % rows[_i].step == 0;
		int status = first ? rows[_i].status : 0;

		ranks[i].rank = i;
		exits[i] = (struct launch_exit){.pid = 1000 + i,
						.start_ns = SECOND,
						.end_ns = 10 * SECOND - i * (SECOND / 1000),
						.status = status < 0 ? -1 : status,
						.signal = status < 0 ? -status : 0,
						.first = first};
	}
	ck_assert_int_eq(gpumap_report_new(&s.report), GPUMAP_OK);
	supervise_conclude(&s);
	got = findings(s.report);
	ROW_EQ_STR(name, got, rows[_i].text);
	ROW_EQ_INT(name, result.status, rows[_i].want);
	free(got);
	gpumap_report_free(s.report);
}
END_TEST

/* Of several first failures the earliest decides, whatever its rank. */
START_TEST(the_first)
{
	static const struct launch_rank ranks[3] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};
	struct launch_exit exits[] = {
		{.end_ns = 30, .status = 1, .first = true},
		{.end_ns = 10, .status = 2}, /* was being stopped */
		{.end_ns = 20, .status = 3, .first = true},
	};
	const struct launch launch = {.ranks = ranks, .count = 3};
	struct launch_result result = {.ranks = exits, .count = 3};
	struct supervisor s = {.launch = &launch, .result = &result};

	supervise_conclude(&s);
	ck_assert_int_eq(result.status, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exit-status");
	TCase *tests = tcase_create("exit-status");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, conclusions, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, the_first);
	return unit_run(suite);
}
