/* SPDX-License-Identifier: MIT */
/*
 * gpumap exec PROGRAM: this process, which another launcher started, becomes one rank of a plan. It
 * does not fork, and it changes none of its signals and descriptors.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "exec/exec.h"
#include "report/report.h"

struct command_exec {
	struct output output;
	struct exec_options options;
	bool dry;
};

const struct option_row exec_rows[] = {
	PLAN_OPTION_ROWS(struct command_exec, options.plan),
	{"--rank", "N", "the rank of this process, instead of the launcher's variables",
	 TEXT_TO(struct command_exec, options.rank)},
	{"--local-rank", "N", "the local rank of this process",
	 TEXT_TO(struct command_exec, options.local_rank)},
	{"--dry-run", NULL, "print what would be started, and start nothing",
	 FLAG_TO(struct command_exec, dry)},
	FORMAT_ROWS("text|json", "output format of --dry-run"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap exec [OPTIONS] [--] [PROGRAM [ARGUMENT...]]\n"
	"\n"
	"Runs a program as one rank of a job that srun, mpirun, torchrun, MPICH, PALS,\n"
	"Flux, jsrun or MVAPICH2 started. gpumap exec reads its rank from the launcher's\n"
	"variables, sets the variables that PyTorch expects, binds the rank to its GPUs\n"
	"and cores, and then executes the program. Without --gpus the rank keeps the GPUs\n"
	"that the launcher gave it.\n"
	"\n"
	"  srun -N2 --ntasks-per-node=8 --gpus-per-node=8 gpumap exec -- python3 train.py\n"
	"  mpirun -np 4 gpumap exec --share isolate -- ./solver\n"
	"  srun -N2 --ntasks-per-node=8 gpumap exec --plan plan.json\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: that of the program; 125 gpumap refused to start it, 126 it cannot\n"
	"be executed, 127 it was not found.\n";

static int read_options(struct command_exec *c, int argc, char **argv)
{
	gpumap_report *report = c->output.report;
	struct options options;
	const char *name;

	options_init(&options, "exec", exec_rows, c, PROFILE_KEYS, argc, argv);
	while ((name = options_next_own(&options, &c->output, help))) {
		if (!*name) {
			c->options.plan.program = options_rest(&options);
			break;
		}
		if (streq(name, "--world-size"))
			c->options.world_size = options.value;
		else
			options.code = plan_option(&c->options.plan, name, options.value, report);
	}
	if (options.code == GPUMAP_OK)
		options.code = refuse_picture(&c->output, "what exec sets has no picture");
	return options.code == GPUMAP_OK ? plan_options_settle(&c->options.plan, false, report)
					 : options.code;
}

/* All ranks have the same remarks, so only one shows them. */
static size_t print_once(const struct command_exec *c, const struct exec *exec)
{
	if (exec->rank.rank > 0 && !c->dry)
		report_keep(c->output.report, 0, finding_matters, NULL);
	return print_report(&c->output, 0);
}

static void change_environment(const struct exec *exec)
{
	for (size_t i = 0; i < exec->change_count; i++) {
		const struct exec_change *change = &exec->changes[i];

		/* An environment can have the same name twice. */
		if (unsetenv(change->name) < 0 ||
		    (change->value && setenv(change->name, change->value, 1) < 0))
			memory_ran_out();
	}
}

/* Returns only when the program cannot be started. */
static int become(const struct exec *exec, gpumap_report *report)
{
	struct speech speech = job_speech(exec->plan);
	enum stage stage;

	change_environment(exec);
	stage = rank_settle(&exec->launch);
	if (stage == STAGE_READY) {
		stage = STAGE_EXEC;
		execvp(exec->arguments[0], exec->arguments);
	}
	return launch_refuse(&exec->launch, stage, errno, &speech, report);
}

static int start(const struct command_exec *c, const struct exec *exec)
{
	/* Findings are shown before the program replaces this process. */
	size_t shown = print_once(c, exec);
	int status = become(exec, c->output.report);

	print_report(&c->output, shown);
	return status;
}

static int show(const struct command_exec *c, const struct exec *exec, int r)
{
	CLEANUP_FREE char *text = NULL;
	bool json = c->output.format == GPUMAP_FORMAT_JSON;

	if (r == GPUMAP_OK || json)
		text = exec_text(r == GPUMAP_OK ? exec : NULL, c->output.report, c->output.format);
	if (text && print_text(text, c->output.report) != GPUMAP_OK)
		r = GPUMAP_EFILE;
	return r == GPUMAP_OK ? STATUS_ANSWERED : STATUS_OWN_FAILURE;
}

static int run(struct command_exec *c)
{
	struct exec exec = {.options = &c->options, .report = c->output.report};
	int r = exec_make(&exec), status;

	if (r == GPUMAP_OK && !c->dry) {
		status = start(c, &exec);
	} else {
		status = c->dry ? show(c, &exec, r) : STATUS_OWN_FAILURE;
		print_once(c, &exec);
	}
	exec_free(&exec);
	return status;
}

int cmd_exec(int argc, char **argv)
{
	struct command_exec c = {.output.format = wanted_format(argc, argv)};
	int r, status = STATUS_OWN_FAILURE;

	out_of_memory_ends(STATUS_OWN_FAILURE);
	c.output.report = report_begin();
	r = read_options(&c, argc, argv);
	if (r == OPTIONS_HELP)
		return finish(&c.output, r, true);
	if (r == GPUMAP_OK)
		status = run(&c);
	else
		print_report(&c.output, 0);
	gpumap_report_free(c.output.report);
	return status;
}
