/* SPDX-License-Identifier: MIT */
/* gpumap plan: each rank's host, GPUs and environment; two plans compared. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "explain/plan.h"
#include "job/plan_open.h"
#include "job/plan_show.h"
#include "job/run_warn_leased.h"
#include "report/report.h"
#include "text/writefile.h"

struct command_plan {
	struct output output;
	struct plan_options options;
	const char *file;         /* -o */
	const char *diff, *other; /* --diff: two files */
	bool origin;
};

const struct option_row plan_rows[] = {
	PLAN_OPTION_ROWS(struct command_plan, options),
	{"-o", "FILE", "write the plan to FILE, for --plan; - is the same as --json",
	 TEXT_TO(struct command_plan, file)},
	{"--diff", "FILE FILE", "show the differences between two plans",
	 TEXT_TO(struct command_plan, diff)},
	{"--origin", NULL, "show every setting, and where its value comes from",
	 FLAG_TO(struct command_plan, origin)},
	FORMAT_ROWS("text|json|svg", "output format; svg is a picture"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap plan [OPTIONS] [--] [PROGRAM [ARGUMENT...]]\n"
	"\n"
	"Shows how gpumap run would start a program, and starts nothing. The plan has the\n"
	"host, GPU, cores and environment of each rank, and the rendezvous address.\n"
	"gpumap also checks whether the program can work with this plan. No GPU is\n"
	"needed, because --inventory can describe other machines. Options win over the\n"
	"profile.\n"
	"\n"
	"  gpumap plan --gpus 2,3,4,5 --device cuda:%l train.py\n"
	"  gpumap plan --hosts tux[08-11] --inventory 'snap/%h.ini' --device cuda:%l\n"
	"  gpumap plan --profile cifar-ddp -o plan.json; gpumap run --plan plan.json\n"
	"  gpumap plan --diff yesterday.json plan.json\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 the plan can be started, 1 it cannot, 2 malformed input; with\n"
	"--diff: 0 the plans are equal, 1 they differ.\n";

static int read_options(struct command_plan *c, int argc, char **argv)
{
	gpumap_report *report = c->output.report;
	struct options options;
	const char *name;

	options_init(&options, "plan", plan_rows, c, PROFILE_KEYS, argc, argv);
	while ((name = options_next_own(&options, &c->output, help))) {
		if (!*name && c->diff && !c->other) {
			c->other = options.operand;
			continue;
		}
		if (!*name) {
			c->options.program = options_rest(&options);
			plan_remark_options(&options, &c->options, report);
			break;
		}
		options.code = plan_option(&c->options, name, options.value, report);
	}
	if (options.code != GPUMAP_OK)
		return options.code;
	if (c->file && streq(c->file, "-")) {
		c->output.format = GPUMAP_FORMAT_JSON;
		c->file = NULL;
	}
	return plan_options_settle(&c->options, false, report);
}

static int write_plan(const struct command_plan *c, const gpumap_plan *plan)
{
	CLEANUP_FREE char *text = NULL;
	int r;

	if (!plan_json_keeps(plan))
		return report_fail(c->output.report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.origin = c->file,
					 .fix = "write it in UTF-8, or start a script that has it"),
				   "a plan cannot keep a program or a value that is not UTF-8");
	r = gpumap_plan_format(&text, plan, GPUMAP_FORMAT_JSON, GPUMAP_FORMAT_FLAG_ORIGINS,
			       c->output.report);
	if (r == GPUMAP_OK)
		r = write_file(c->file, span_of(text), "the plan", c->output.report);
	return r;
}

/* --- --diff ------------------------------------------------------------------------ */

/* The reason why a plan could not be started does not matter for the difference. */
static int read_quietly(gpumap_plan **ret, const char *path, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = gpumap_plan_read(ret, path, report);

	if (r == GPUMAP_OK)
		report_keep(report, before, NULL, NULL);
	return r;
}

static int check_diff(const struct command_plan *c, gpumap_report *report)
{
	if (!c->other || c->options.program)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--diff", .fix = "write --diff A B"),
				   c->other ? "compares two plans, not more"
					    : "needs a second plan");
	if (c->output.format == GPUMAP_FORMAT_SVG)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--format", .fix = "write text or json"),
				   "there is no picture of a difference");
	if (c->file || c->options.file)
		return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				   ABOUT(.origin = "--diff", .fix = "leave one of them out"),
				   "compares two plan files, and %s is about one plan",
				   c->file ? "-o" : "--plan");
	return plan_check_alone(&c->options, "--diff", c->diff, report);
}

static int compare(struct command_plan *c, bool *same)
{
	CLEANUP_FREE char *text = NULL;
	gpumap_report *report = c->output.report;
	OWNED(plan) *a = NULL, *b = NULL;
	int differs = 0, r = check_diff(c, report);

	if (r == GPUMAP_OK)
		r = read_quietly(&a, c->diff, report);
	if (r == GPUMAP_OK)
		r = read_quietly(&b, c->other, report);
	if (r == GPUMAP_OK || c->output.format == GPUMAP_FORMAT_JSON) {
		int shown = gpumap_plan_diff(&text, &differs, a, b, c->output.format, 0, report);

		r = r == GPUMAP_OK ? shown : r;
		if (shown == GPUMAP_OK && print_text(text, report) != GPUMAP_OK)
			r = GPUMAP_EFILE;
		c->output.format = GPUMAP_FORMAT_TEXT; /* print nothing more to standard output */
	}
	*same = !differs;
	return r;
}

/* A file named *.svg is expected to have a picture. */
static int check_file(const struct command_plan *c)
{
	if (!c->file || !text_ends(c->file, ".svg"))
		return GPUMAP_OK;
	return report_fail(c->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = "-o", .fix = "write --format svg >FILE for a picture"),
			   "writes the plan as JSON, not as a picture: '%s'",
			   QUOTE(span_of(c->file)));
}

static int answer(struct command_plan *c, bool *answered)
{
	OWNED(plan) *plan = NULL;
	int64_t node;
	int r = check_file(c);

	c->options.chooses = true;
	c->options.lints = c->options.looks = true;
	if (r == GPUMAP_OK)
		r = plan_open(&plan, &node, &c->options, c->output.report);
	if (r == GPUMAP_OK && node >= 0 && gpumap_plan_int(plan, GPUMAP_PLAN_ANSWERED) == 1)
		run_warn_leased(plan, node, c->output.report);
	if (r == GPUMAP_OK)
		r = plan_seek_program(plan, node, c->output.report);
	if (r == GPUMAP_OK && c->file)
		r = write_plan(c, plan);
	if (r == GPUMAP_OK)
		r = plan_show(plan, &c->output, c->origin, answered);
	return r;
}

int cmd_plan(int argc, char **argv)
{
	struct command_plan c = {.output.no_answer = no_plan};
	bool answered = true;
	int r;

	c.output.report = report_begin();
	r = read_options(&c, argc, argv);
	/* --json after the options is the program's. */
	if (r != GPUMAP_OK)
		c.output.format = wanted_format(argc, argv);
	if (r == GPUMAP_OK)
		r = c.diff ? compare(&c, &answered) : answer(&c, &answered);
	return finish(&c.output, r, answered);
}
