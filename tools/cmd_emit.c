/* SPDX-License-Identifier: MIT */
/* gpumap emit: a plan as a command or script of another launcher. */
#include "command.h"
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

#include "job/plan_open.h"
#include "report/report.h"
#include "text/writefile.h"

struct command_emit {
	struct output output;
	struct plan_options options;
	const char *target;
	const char *file; /* -o */
};

const struct option_row emit_rows[] = {
	PLAN_OPTION_ROWS(struct command_emit, options),
	{"-o", "FILE", "write the command or script to FILE", TEXT_TO(struct command_emit, file)},
	{"--json", NULL, "print JSON, with the files that the command needs", 0},
	{NULL, NULL, NULL, 0},
};

static void list_launchers(void)
{
	const gpumap_target *target;

	for (size_t i = 0; (target = gpumap_target_get(i)); i++)
		printf("  %-12s%s\n", gpumap_target_str(target, GPUMAP_TARGET_NAME),
		       gpumap_target_str(target, GPUMAP_TARGET_SUMMARY));
	fputs("\noptions\n", stdout);
}

static const char help[] =
	"usage: gpumap emit LAUNCHER [OPTIONS] [--] [PROGRAM [ARGUMENT...]]\n"
	"\n"
	"Prints a plan as a command line or script for another launcher, and starts\n"
	"nothing. Remarks on standard error, and comments in the script, list what that\n"
	"launcher does not support or does differently.\n"
	"\n"
	"  gpumap emit torchrun --gpus 2,3,4,5 train.py\n"
	"  gpumap emit sbatch --profile cifar-ddp -o job.sh; sbatch job.sh\n"
	"\n"
	"launchers\n" OPTIONS_HERE "\n"
	"Exit status: 0 success, 1 the launcher cannot start the plan, 2 malformed input.\n";

static int read_options(struct command_emit *c, int argc, char **argv)
{
	gpumap_report *report = c->output.report;
	struct options options;
	const char *name;

	options_init(&options, "emit", emit_rows, c, PROFILE_KEYS, argc, argv);
	options.list = list_launchers;
	while ((name = options_next_own(&options, &c->output, help))) {
		if (!*name && c->target) {
			c->options.program = options_rest(&options);
			plan_remark_options(&options, &c->options, report);
			break;
		}
		if (!*name)
			c->target = options.operand;
		else
			options.code = plan_option(&c->options, name, options.value, report);
	}
	if (options.code != GPUMAP_OK)
		return options.code;
	if (!c->target)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_NO_LAUNCHER,
			ABOUT(.fix = "write for example gpumap emit torchrun; --help lists "
				     "the launchers"),
			"no launcher is named");
	return plan_options_settle(&c->options, false, report);
}

static int put_text(const struct command_emit *c, const char *text)
{
	gpumap_report *report = c->output.report;

	if (!c->file)
		return print_text(text, report);
	return starts_with(text, "#!") ? write_script(c->file, span_of(text), "the script", report)
				       : write_file(c->file, span_of(text), "the command", report);
}

static int emit(struct command_emit *c, const gpumap_plan *plan, bool *answered)
{
	CLEANUP_FREE char *text = NULL;
	int emitted = 0;
	int r = gpumap_plan_emit(&text, &emitted, plan, c->target, c->output.format, 0,
				 c->output.report);

	*answered = emitted;
	/* No file is made for a "no". */
	if (r == GPUMAP_OK && !*answered)
		c->file = NULL;
	if (r == GPUMAP_OK)
		r = put_text(c, text);
	return r;
}

static int answer(struct command_emit *c, bool *answered)
{
	OWNED(plan) *plan = NULL;
	int64_t node;
	int r = emit_check_target(c->target, c->output.report);

	c->options.scheduled = emit_is_scheduled(c->target);
	if (r == GPUMAP_OK)
		r = plan_open(&plan, &node, &c->options, c->output.report);
	if (r == GPUMAP_OK)
		r = emit(c, plan, answered);
	return r;
}

/* The output is the first member of the command. */
static int no_launch(char **text, const struct output *output)
{
	const char *target = ((const struct command_emit *)output)->target;
	int none;

	return gpumap_plan_emit(text, &none, NULL, target, GPUMAP_FORMAT_JSON, 0, output->report);
}

int cmd_emit(int argc, char **argv)
{
	struct command_emit c = {
		.output = {.format = wanted_format(argc, argv), .no_answer = no_launch}};
	bool answered = true;
	int r;

	c.output.report = report_begin();
	r = read_options(&c, argc, argv);
	if (r == GPUMAP_OK)
		r = answer(&c, &answered);
	return finish(&c.output, r, answered);
}
