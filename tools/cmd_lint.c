/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lint.h"
#include "lint/environment.h"
#include "lint/python.h"
#include "machine.h"
#include "report.h"
#include "suggest.h"

static const struct option_row rows[] = {
	{"--as", "profile|shell|python", "what the files are, where their names do not say it"},
	{"--launcher", "torchrun|launch|srun|mpirun|gpumap|accelerate|deepspeed",
	 "who starts the Python files; launch is torch.distributed.launch"},
	{"--profile", "NAME", "the profile of the file, instead of all"},
	{"--inventory", INVENTORY_VALUE, "the machine that it is for"},
	{"--json", NULL, "the same as JSON"},
	{NULL, NULL, NULL},
};

static void help(const struct options *options)
{
	fputs("usage: gpumap lint [OPTIONS] [FILE...]\n"
	      "\n"
	      "Says what is wrong, or may be, in launch profiles, shell scripts and Python\n"
	      "programs before they run on GPUs; without a file in this environment and in\n"
	      "./gpumap.ini. A line of the answer is FILE:LINE:COLUMN: text; remedy [id], as\n"
	      "editors read it.\n"
	      "\n"
	      "  gpumap lint train.py --launcher torchrun\n"
	      "  gpumap lint gpumap.ini --profile cifar-ddp\n"
	      "  CUDA_VISIBLE_DEVICES=0,0 gpumap lint --inventory 4\n"
	      "  vim -q <(gpumap lint *.py)\n"
	      "\n",
	      stdout);
	options_help(options, stdout);
	fputs("\n"
	      "A FILE of - is standard input.\n"
	      "\n"
	      "Exit status: 0 nothing, or remarks alone; 1 warnings or errors; 2 a file cannot\n"
	      "be read, or malformed options.\n",
	      stdout);
}

static int bad_word(struct lint *lint, const char *option, const char *value, const char *near,
		    const char *fix)
{
	return report_fail(lint->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = option, .fix = DID_YOU_MEAN(near, fix)),
			   "cannot be '%s'", QUOTE(span_of(value)));
}

static int set_launcher(struct lint *lint, const char *value)
{
	const char *names[16] = {0};
	size_t count = 0;

	for (const struct python_launcher *l = python_launchers; l->name; l++)
		names[count++] = l->name;
	for (size_t i = 0; i < count; i++)
		if (streq(names[i], value)) {
			lint->launcher = names[i];
			return GPUMAP_OK;
		}
	return bad_word(lint, "--launcher", value, suggest(span_of(value), names),
			"gpumap lint --help lists the launchers");
}

static int take_option(struct lint *lint, const char *name, const struct options *options)
{
	if (streq(name, "--as")) {
		lint->as = lint_kind_named(options->value);
		if (!lint->as)
			return bad_word(lint, name, options->value, NULL,
					"write profile, shell or python");
	} else if (streq(name, "--launcher")) {
		return set_launcher(lint, options->value);
	} else if (streq(name, "--profile")) {
		lint->options.profile = options->value;
	} else if (streq(name, "--inventory")) {
		lint->what = options->value;
	} else {
		lint->files[lint->count++] = options->operand;
	}
	return GPUMAP_OK;
}

static int read_options(struct lint *lint, int argc, char **argv, bool *done)
{
	struct options options;
	const char *name;
	bool failed = false;
	int r = GPUMAP_OK;

	options_init(&options, "lint", rows, NO_KEYS, argc, argv);
	while (r == GPUMAP_OK && !failed &&
	       (name = options_next(&options, lint->output.report, &failed))) {
		if (streq(name, "--help")) {
			help(&options);
			*done = true;
			return GPUMAP_OK;
		}
		if (!output_option(&lint->output, name, options.value, &failed))
			r = take_option(lint, name, &options);
	}
	return failed ? GPUMAP_EINPUT : r;
}

/* This environment on this machine; on one without GPUs what it says is taken as it is. */
static int lint_here(struct lint *lint)
{
	gpumap_inventory *host = NULL;
	const gpumap_inventory *inventory = lint->inventory;
	int r;

	if (!inventory &&
	    machine_open(&host, machine_named(NULL, false), false, lint->found) == GPUMAP_OK &&
	    gpumap_inventory_count(host) && !gpumap_inventory_str(host, GPUMAP_INVENTORY_NO_GPU))
		inventory = host;
	r = lint_environment((const char *const *)environ, inventory, NULL, lint->found);
	gpumap_inventory_free(host);
	return r == GPUMAP_ENOMEM ? r : lint_default_profile(lint);
}

/* A file that cannot be read hides nothing that the others have. */
static int answer(struct lint *lint)
{
	int r = GPUMAP_OK;

	if (lint->what)
		r = machine_open(&lint->inventory, lint->what, false, lint->output.report);
	if (r != GPUMAP_OK)
		return r;
	if (!lint->count)
		return lint_here(lint);
	for (int i = 0; i < lint->count && r != GPUMAP_ENOMEM; i++) {
		int one = lint_file(lint, lint->files[i]);

		r = one == GPUMAP_OK ? r : one;
	}
	return r;
}

int cmd_lint(int argc, char **argv)
{
	struct lint lint = {.output.format = wanted_format(argc, argv)};
	bool done = false, clean;
	int r;

	if (gpumap_report_new(&lint.output.report) != GPUMAP_OK)
		return STATUS_MALFORMED;
	lint.files = calloc((size_t)argc, sizeof(*lint.files));
	r = lint.files ? gpumap_report_new(&lint.found) : GPUMAP_ENOMEM;
	if (r == GPUMAP_OK)
		r = read_options(&lint, argc, argv, &done);
	if (r == GPUMAP_OK && !done)
		r = answer(&lint);
	/* JSON is owed after a failure too; text where there is something to show. */
	if (!done &&
	    (r == GPUMAP_OK || lint.output.format == GPUMAP_JSON ||
	     gpumap_report_count(lint.found)) &&
	    !lint_print(&lint) && r == GPUMAP_OK)
		r = GPUMAP_EFILE;
	lint.output.format = GPUMAP_TEXT;
	clean = gpumap_report_worst(lint.found) < GPUMAP_WARNING;
	gpumap_report_free(lint.found);
	gpumap_inventory_free(lint.inventory);
	free(lint.files);
	return finish(&lint.output, r, clean || done);
}
