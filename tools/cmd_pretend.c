/* SPDX-License-Identifier: MIT */
/* gpumap pretend --inventory MACHINE -- PROGRAM ARGUMENTS: becomes the program. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "rehearse/pretended.h"
#include "report/report.h"
#include "strbuf.h"
#include "suggest.h"
#include "text/words.h"

const struct option_row pretend_rows[] = {
	INVENTORY_ROW(0),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap pretend --inventory MACHINE [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs a program as if this host had the GPUs of a recorded or synthetic machine.\n"
	"The program sees them through NVML if it loads libnvidia-ml.so.1 by that name, as\n"
	"nvitop, gpustat and PyTorch do. A program that loads it by an absolute path, or\n"
	"runs with raised privileges, gets the real library. Values that the inventory does\n"
	"not have are shown as N/A. CUDA is not simulated: torch.cuda.is_available() stays\n"
	"False, and gpumap rehearse runs PyTorch programs. The machine has leases of its\n"
	"own; set GPUMAP_LEASES to a folder to share them.\n"
	"\n"
	"  gpumap pretend --inventory 8xH100 -- nvitop -1\n"
	"  ssh node7 nvidia-smi -L | gpumap pretend --inventory - -- gpustat\n"
	"\n" OPTIONS_HERE;

static int without_machine(gpumap_report *report, const char *operand)
{
	bool machine = operand && (is_digit(*operand) || text_ends(operand, ".txt") ||
				   text_ends(operand, ".ini"));

	return report_fail(
		report, STATUS_MALFORMED, FINDING_BAD_OPTION,
		ABOUT(.fix = machine ? FORMAT("write gpumap pretend --inventory %.64s -- PROGRAM",
					      QUOTE(span_of(operand)))
				     : "write for example --inventory 8xH100"),
		"which machine? --inventory is missing");
}

/* Reads options up to the program, which has options of its own; argv is then at its name. Without
 * a machine after STATUS_ANSWERED help was shown. */
static int read_options(struct output *output, int argc, char ***argv, const char **what)
{
	struct options options;
	const char *name;

	*what = NULL;
	options_init(&options, "pretend", pretend_rows, NULL, NO_KEYS, argc, *argv);
	while ((name = options_next_own(&options, output, help)) && *name)
		*what = options.value;
	if (options.code == OPTIONS_HELP)
		*what = NULL;
	if (options.code != GPUMAP_OK)
		return options.code == OPTIONS_HELP ? STATUS_ANSWERED : STATUS_MALFORMED;
	if (!*what)
		return without_machine(output->report, name ? options.operand : NULL);
	if (!name)
		return report_fail(output->report, STATUS_MALFORMED, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write for example -- nvitop -1"),
				   "no program is named");
	*argv += options.index - 1;
	return STATUS_ANSWERED;
}

/* nvidia-smi belongs to the driver, so a machine without GPUs does not have it. */
static const char *missing_fix(struct quoted *ret, const char *program)
{
	const char *machine = getenv("GPUMAP_PRETEND_INVENTORY");
	CLEANUP(strbuf_free) struct strbuf word = {0};

	if (!streq(file_name(program), "nvidia-smi"))
		return "install it, or give its path";
	words_quote(&word, machine && strlen(machine) < 128 ? machine : "FILE");
	return format_text(
		ret,
		"it comes with NVIDIA's driver; gpumap inventory --inventory %s lists this machine",
		word.text ? word.text : "FILE");
}

/* Returns only when the program cannot be started. */
static int run(char **argv, gpumap_report *report)
{
	struct quoted fix;
	int why;

	execvp(*argv, argv);
	why = errno;
	report_add(report, FINDING_PRETEND,
		   ABOUT(.fix = why == ENOENT ? missing_fix(&fix, *argv) : NULL),
		   "cannot run '%s': %s", QUOTE(span_of(*argv)), strerror(why));
	return status_of_error(why);
}

int cmd_pretend(int argc, char **argv)
{
	struct output output = {0};
	const char *what;
	size_t shown;
	int status;

	out_of_memory_ends(STATUS_OWN_FAILURE);
	output.report = report_begin();
	status = read_options(&output, argc, &argv, &what);
	if (status == STATUS_ANSWERED && what)
		status = pretended_machine(what, output.report);
	if (status == STATUS_ANSWERED && !what)
		return finish(&output, GPUMAP_OK, true);
	shown = print_report(&output, 0);
	if (status == STATUS_ANSWERED)
		status = run(argv, output.report);
	print_report(&output, shown);
	gpumap_report_free(output.report);
	return status;
}
