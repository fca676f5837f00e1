/* SPDX-License-Identifier: MIT */
/* gpumap lint: mistakes in profiles, scripts, programs and the environment. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/hint_line.h"
#include "cli/lint_print.h"
#include "cli/machine.h"
#include "job/plan_open.h"
#include "lint/environment.h"
#include "lint/launchers.h"
#include "lint/lint.h"
#include "lint/python.h"
#include "memory.h"
#include "profile/profile.h"
#include "report/report.h"
#include "suggest.h"
#include "text/words.h"

struct lint_command {
	struct lint lint;
	struct output output;        /* its report: errors of the command line, files not read */
	int format;                  /* enum lint_format */
	gpumap_inventory *inventory; /* of --inventory, if given */
	const char **files;
	int count;
};

const struct option_row lint_rows[] = {
	{"--as", "profile|shell|python", "the type of the files, if their names do not show it", 0},
	{"--launcher", "torchrun|launch|srun|mpirun|gpumap|accelerate|deepspeed",
	 "what starts the Python files; launch is torch.distributed.launch", 0},
	{"--profile", "NAME", "check this profile of the file, instead of all",
	 TEXT_TO(struct lint_command, lint.profile)},
	INVENTORY_ROW(TEXT_TO(struct lint_command, lint.machine)),
	FORMAT_ROWS(LINT_FORMATS, "output format; github: annotations for GitHub workflows"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap lint [OPTIONS] [FILE...]\n"
	"\n"
	"Finds certain and possible mistakes in launch profiles, shell scripts, Python\n"
	"programs and notebooks before they run. FILE may be a folder, which means the\n"
	"programs in it, or - for standard input. Without a FILE gpumap checks this\n"
	"environment and the profile file, such as ./gpumap.ini. A finding is a line\n"
	"FILE:LINE:COLUMN: text; remedy [id], which editors can read. To hide the findings\n"
	"of a line, write the comment # gpumap: ignore at its end, or\n"
	"# gpumap: ignore=GM007,GM220 to hide only findings with these ids.\n"
	"\n"
	"  gpumap lint .\n"
	"  gpumap lint train.py --launcher torchrun\n"
	"  gpumap lint gpumap.ini --profile cifar-ddp\n"
	"  CUDA_VISIBLE_DEVICES=0,0 gpumap lint --inventory 4\n"
	"  vim -q <(gpumap lint *.py)\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 nothing or only remarks; 1 warnings or errors; 2 a file that\n"
	"cannot be read, or malformed options.\n";

static int set_launcher(struct lint_command *command, const char *value)
{
	const struct launcher *launcher = lint_launcher_of(value);
	struct nearest nearest = nearest_to(span_of(value));

	if (launcher) {
		command->lint.launcher = launcher->option;
		return GPUMAP_OK;
	}
	for (size_t i = LINT_DIRECT + 1; i < LINT_LAUNCHERS; i++)
		nearest_try(&nearest, lint_launchers[i].option);
	return option_refuse("--launcher", value,
			     DID_YOU_MEAN(nearest.name, "gpumap lint --help lists the launchers"),
			     command->output.report);
}

/* The format that was asked for, also where an option before it is wrong. */
static enum lint_format format_wanted(int argc, char **argv)
{
	enum lint_format format = LINT_TEXT;

	for (int i = 1; i < argc && !streq(argv[i], "--"); i++) {
		const char *value = starts_with(argv[i], "--format=")            ? argv[i] + 9
				    : streq(argv[i], "--format") && i + 1 < argc ? argv[i + 1]
				    : streq(argv[i], "--json")                   ? "json"
										 : "";
		int place = word_place(LINT_FORMATS, span_of(value));

		format = place >= 0 ? (enum lint_format)place : format;
	}
	return format;
}

/* CUDA_VISIBLE_DEVICES=0,1 */
static bool is_variable(const char *word)
{
	size_t name = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return name && !is_digit(*word) && word[name] == '=' && access(word, F_OK);
}

/* What starts a program, alone or before its arguments in the same word. */
static bool is_command_line(const char *word)
{
	struct span first = {word, strcspn(word, " ")};

	return access(word, F_OK) &&
	       (span_among(first, "torchrun accelerate deepspeed mpirun mpiexec srun sbatch") ||
		(word[first.length] &&
		 (span_among(first, "python python3 bash sh") || is_variable(word))));
}

static int refuse_operand(struct lint_command *command, const struct options *options)
{
	CLEANUP(strbuf_free) struct strbuf fix = {0}, line = {0};
	bool starts = is_command_line(options->operand);

	strbuf_puts(&line, options->operand);
	for (int i = options->index; starts && !strchr(options->operand, ' ') && i < options->argc;
	     i++) {
		strbuf_puts(&line, " ");
		words_quote(&line, options->argv[i]);
	}
	hint_fill(&fix,
		  starts ? "write echo @ | gpumap lint --as shell -, or name the script that has it"
			 : "write it in front: @ gpumap lint",
		  &line.text);
	return report_fail(command->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.fix = fix.text), "'%s' is a %s, not a file",
			   QUOTE(span_of(options->operand)), starts ? "command" : "variable");
}

static int take_option(struct lint_command *command, const char *name,
		       const struct options *options)
{
	const char *value = options->value;
	gpumap_report *report = command->output.report;

	if (streq(name, "--as")) {
		command->lint.as = lint_kind_named(value);
		if (!command->lint.as)
			return option_refuse(name, value,
					     WORD_FIX("profile|shell|python", span_of(value)),
					     report);
	} else if (streq(name, "--launcher")) {
		return set_launcher(command, value);
	} else if (streq(name, "--format")) {
		return option_word(name, LINT_FORMATS, value, &command->format, report);
	} else if (streq(name, "--json")) {
		command->format = LINT_JSON;
	} else if (is_command_line(options->operand) || is_variable(options->operand)) {
		return refuse_operand(command, options);
	} else {
		command->files[command->count++] = options->operand;
	}
	return GPUMAP_OK;
}

static int read_options(struct lint_command *command, int argc, char **argv)
{
	struct options options;
	const char *name;

	options_init(&options, "lint", lint_rows, command, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &command->output, help)))
		options.code = take_option(command, name, &options);
	return options.code;
}

/* Reports why a plan would be refused, if the machine is named: the profile may be launched on
 * another machine than this. Which GPUs are free on it is not known. */
static gpumap_plan *check_plan(const struct lint *lint, gpumap_profile *profile,
			       struct python_start *start, gpumap_report *report)
{
	const struct plan_options nothing = {.file = NULL};
	gpumap_plan *plan = NULL;
	size_t before;
	int64_t node;

	if (lint->machine &&
	    gpumap_profile_set(profile, "inventory", lint->machine, "--inventory", report))
		return NULL;
	if ((!lint->machine &&
	     profile_key_value(profile, PKEY_PROFILE_inventory).word == PLAN_INVENTORY_HOST) ||
	    profile_key_value(profile, PKEY_PROFILE_hosts).word == PLAN_HOSTS_SLURM ||
	    profile_key_value(profile, PKEY_PROFILE_gpus).word == PLAN_GPUS_FREE)
		return NULL;
	before = gpumap_report_count(report);
	plan_from(&plan, &node, profile, &nothing, report);
	report_keep(report, before, finding_matters, NULL);
	if (plan && gpumap_plan_int(plan, GPUMAP_PLAN_ANSWERED) == 1)
		plan_picture(start, plan);
	return plan;
}

static gpumap_plan *check_launch(const struct lint *lint, gpumap_profile *profile,
				 struct python_start *start, gpumap_report *report)
{
	if (!profile_check_launch(profile, report))
		return NULL;
	plan_seek_file(profile, report);
	return check_plan(lint, profile, start, report);
}

/* The file that gpumap config would read, if there is one. */
static void lint_default_profile(const struct lint *lint)
{
	const struct profile_options options = {.profile = lint->profile};
	OWNED(profile) *profile = NULL;

	if (profile_open(&profile, &options, lint->found) == GPUMAP_OK &&
	    gpumap_profile_str(profile, GPUMAP_PROFILE_FILE))
		lint_files(lint,
			   (const char *const[]){gpumap_profile_str(profile, GPUMAP_PROFILE_FILE)},
			   1);
}

/* Checks this environment on this machine. On one without GPUs the environment is taken as it is.
 */
static void lint_here(const struct lint *lint)
{
	OWNED(inventory) *host = NULL;
	const gpumap_inventory *inventory = lint->inventory;

	if (!inventory &&
	    machine_open(&host, machine_named(NULL, 0), 0, lint->found) == GPUMAP_OK &&
	    machine_has_gpus(host))
		inventory = host;
	lint_environment((const char *const *)environ, inventory, lint->found);
	lint_default_profile(lint);
}

static int64_t visible_here(void)
{
	OWNED(inventory) *host = NULL;

	return machine_open(&host, "host", 0, NULL) == GPUMAP_OK && machine_has_gpus(host)
		       ? lint_environment((const char *const *)environ, host, NULL)
		       : -1;
}

static int answer(struct lint_command *command)
{
	const struct lint *lint = &command->lint;
	int r = GPUMAP_OK;

	if (lint->machine)
		r = machine_open(&command->inventory, lint->machine, 0, lint->failures);
	command->lint.inventory = command->inventory;
	if (r != GPUMAP_OK)
		return r;
	if (command->count)
		return lint_files(lint, command->files, (size_t)command->count);
	lint_here(lint);
	return GPUMAP_OK;
}

int cmd_lint(int argc, char **argv)
{
	struct lint_command command = {.lint.check_launch = check_launch,
				       .lint.visible_here = visible_here,
				       .output.own_format = true,
				       .format = (int)format_wanted(argc, argv)};
	struct output *output = &command.output;
	bool clean;
	int r;

	output->report = report_begin();
	command.lint.failures = output->report;
	command.lint.found = report_begin();
	command.files = xcalloc((size_t)argc, sizeof(*command.files));
	r = read_options(&command, argc, argv);
	if (r == GPUMAP_OK)
		r = answer(&command);
	/* A program is owed an answer after a failure too; text where there is something to show.
	 */
	if (r != OPTIONS_HELP &&
	    (r == GPUMAP_OK || command.format != LINT_TEXT ||
	     gpumap_report_count(command.lint.found)) &&
	    !lint_print(command.lint.found, output, (enum lint_format)command.format) &&
	    r == GPUMAP_OK)
		r = GPUMAP_EFILE;
	clean = gpumap_report_worst(command.lint.found) < GPUMAP_SEVERITY_WARNING;
	gpumap_report_free(command.lint.found);
	gpumap_inventory_free(command.inventory);
	free(command.files);
	return finish(output, r, clean);
}
