/* SPDX-License-Identifier: MIT */
/* The picture of a plan: well-formed, complete, bounded, and nothing leaves its
 * place. */
#include <stdio.h>

#include "failing_malloc.h"
#include "jobs.h"
#include "picture.h"
#include "profiles.h"
#include "text_width.h"
#include "unit.h"

#define P(more) "[profile p]\nprogram=t\n" more "[program t]\ncommand=t\n"
#define DDP(more) P(more) "device=cuda:%l\n"
#define MODEL "NVIDIA_RTX_PRO_6000_Blackwell_Max-Q_Workstation_Edition"
#define UUID "GPU-70726574-656e-6400-8000-00000000000"
#define LONG \
	UUID "0 =" MODEL " @10;" UUID "1 =" MODEL " @20;" UUID "2 =" MODEL " @30;" UUID \
	     "3 =" MODEL " @40"
#define BOX "GPU-a0 =A<&> @10 n=0 c=0-3;GPU-b0 =B @20 n=1 c=4-7 m=MIG-x m=MIG-y"

static const struct {
	const char *name, *files, *hosts;
	const char *has, *lacks; /* texts and colours between bars */
} rows[] = {
	{"one host", DDP(""), "a=4xH100",
	 "4 ranks on 1 host, ddp, profile p\n|Rendezvous at 127.0.0.1|a, ranks 0 "
	 "to 3\n|GPU "
	 "3\n|H100\n|"
	 "rank 3 \xc2\xb7 local 3 \xc2\xb7 cuda:3\n|cores not "
	 "bound\n|CUDA_VISIBLE_DEVICES=0,1,2,3\n",
	 "not chosen|error|more|shared"},
	{"some are not chosen", DDP("gpus=2,0\n"), "a=3",
	 "GPU 1\n|not chosen\n|rank 0 \xc2\xb7 local 0 \xc2\xb7 cuda:0\n|GPU 2\n", "error"},
	{"uneven hosts", DDP(""), "a=3 + b[1-2]=1 + c=3",
	 "a, ranks 0 to 2\n|b1, rank 3, and b2 like it\n|c, ranks 5 to 7\n|Remark "
	 "GM192\n",
	 "error"},
	{"equal hosts", DDP(""), "a[1-5]=1", "a1, rank 0, and 4 hosts like it, the last a5\n",
	 "a2"},
	{"a collision", P("") "device=cuda:0\n", "a=3",
	 "cannot be started\nError GM186, rule R3\nall 3 ranks of a use |\nRemedy: |"
	 "collision\n|no rank\n",
	 "not chosen|shared"},
	{"nowhere", DDP("share=isolate\n"), "a=3",
	 "no GPU that works\n|error\n|rank 2 \xc2\xb7 local 2\n|each rank has", "collision"},
	{"not known", P(""), "a=2", "not checked\n|Remark GM187",
	 "collision|no rank|shared|" COLOUR_UNSURE_CARD "|" COLOUR_CHOSEN_CARD},
	{"long names", DDP(""), "a-very-long-name-of-a-host-in-a-cluster.example.com=" LONG,
	 "cluster.example.com, ranks 0 to 3\n|" MODEL "\n|" UUID "1|" UUID "3\n", "shared"},
	{"MIG instances", P("share=isolate\n") "device=cuda:0\n", "a=" BOX,
	 "GPU 1\n|rank 2 \xc2\xb7 local 2 \xc2\xb7 cuda:0 \xc2\xb7 MIG 1\n|A<&>\n", "collision"},
	{"replicas", P("mode=dp\n") "device=cuda:0\n", "a=3",
	 "rank 0 \xc2\xb7 local 0 \xc2\xb7 cuda:0\n|rank 0 \xc2\xb7 local 0 uses "
	 "it too\n",
	 "Rendezvous|collision"},
	{"without GPUs", DDP("ranks=6\n"), "a=0",
	 "without a GPU\n|rank 3 \xc2\xb7 local 3\n|... 2 more ranks\n", "rank 4"},
	{"none at all", DDP(""), "a=0",
	 "1 host, ddp, profile p: cannot be started|a, no rank\n|no GPU\n|Error GM010", "GPU 0"},
	{"shared on purpose", P("ranks=8\nranks_per_gpu=4\n") "device=cuda:modulo\n", "a=2",
	 "shared\n|rank 7 \xc2\xb7 local 7 \xc2\xb7 cuda:1\n|Warning "
	 "GM043|" COLOUR_UNSURE_CARD,
	 "collision|error|" COLOUR_CHOSEN_CARD},
	{"shared, not known", P("ranks=4\nranks_per_gpu=2\n"), "a=2",
	 "GPU 1\n|shared\n|Warning GM043|Remark GM187|" COLOUR_UNSURE_CARD,
	 "not checked\n|" COLOUR_CHOSEN_CARD},
	{"many GPUs", DDP("gpus=90,91\n"), "a=100", "GPU 90\n|GPU 91\n", "not chosen|more"},
	{"more GPUs", DDP(""), "a=100", "GPU 15\n|... 84 more GPUs\n", "GPU 16"},
	{"many kinds of hosts", DDP(""), "a=1 + b=2 + c=3 + d=4 + e=5 + f=6 + g=7 + h[1-99]=8",
	 "h1, ranks 28 to 35, and 98 hosts like it, the last h99\n", "unlike"},
	{"ranks in hundreds", P("ranks=512\nranks_per_gpu=64\n") "device=cuda:modulo\n", "a[1-9]=8",
	 "4608 ranks on 9 hosts|... 60 more ranks\n", "collision"},
};

static bool has(const char *text, struct span word)
{
	return memmem(text, strlen(text), word.text, word.length);
}

static void check_words(const char *name, const char *svg, const char *text, const char *words,
			bool wanted)
{
	struct span rest = span_of(words), word;

	while (span_split(&rest, '|', &word))
		ck_assert_msg(!word.length || has(*word.text == '#' ? svg : text, word) == wanted,
			      "%s: '%.*s' in\n%s", name, (int)word.length, word.text, text);
}

/* Of the plan, then of one that was read. */
static void check_picture(const char *name, const gpumap_plan *plan, const gpumap_report *report,
			  const char *wanted, const char *unwanted)
{
	struct picture seen;
	char *svg = NULL, *text;

	ROW_EQ_INT(name, gpumap_plan_format(&svg, plan, GPUMAP_FORMAT_SVG, 0, report), GPUMAP_OK);
	text = picture_look(name, svg, &seen);
	check_words(name, svg, text, wanted, true);
	check_words(name, svg, text, unwanted, false);
	check_words(name, svg, text, ELLIPSIS, false);
	ck_assert_msg(seen.height < 8000 && seen.width < 1300, "%s: %ldx%ld", name, seen.width,
		      seen.height);
	ck_assert_msg(strlen(svg) < 262144, "%s: %zu bytes", name, strlen(svg));
	free(text);
	free(svg);
}

START_TEST(pictures)
{
	const char *name = rows[_i].name;
	gpumap_plan *again = NULL;
	gpumap_report *report;
	struct job_scene scene;
	char *json = NULL;

	job_set(&scene, rows[_i].files, rows[_i].hosts, "");
	job_plan(&scene);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	check_picture(name, scene.plan, scene.report, rows[_i].has, rows[_i].lacks);
	ROW_EQ_INT(name, gpumap_plan_format(&json, scene.plan, GPUMAP_FORMAT_JSON, 0, scene.report),
		   GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_plan_parse(&again, json, strlen(json), "t", report), GPUMAP_OK);
	check_picture(name, again, report, rows[_i].has, rows[_i].lacks);
	gpumap_plan_free(again);
	gpumap_report_free(report);
	free(json);
	job_free(&scene);
}
END_TEST

START_TEST(no_plan)
{
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	report_add(report, FINDING_BAD_VALUE, NULL, "a < b");
	check_picture("no plan", NULL, report, "No plan\n|Error GM002\n|a < b\n", "rank");
	check_picture("nothing", NULL, NULL, "No plan\n", "Error");
	gpumap_report_free(report);
}
END_TEST

START_TEST(every_allocation_fails)
{
	struct job_scene scene;
	bool failed = true;

	if (!allocations_can_fail())
		return;
	job_set(&scene, DDP(""), "a=2 + b=" BOX, "");
	job_plan(&scene);
	for (size_t n = 1; failed; n++) {
		char *svg = NULL;
		int r;

		allocations_fail_at(n);
		r = gpumap_plan_format(&svg, scene.plan, GPUMAP_FORMAT_SVG, 0, scene.report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == (failed ? GPUMAP_ENOMEM : GPUMAP_OK), "%zu gives %d", n, r);
		ck_assert_msg(failed == !svg, "%zu", n);
		free(svg);
	}
	job_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-svg");
	TCase *tests = tcase_create("plan-svg");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pictures, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, no_plan);
	tcase_add_test(tests, every_allocation_fails);
	return unit_run(suite);
}
