/* SPDX-License-Identifier: MIT */
/* gpumap doctor: checks a machine before a job starts. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/color.h"
#include "cli/hint_line.h"
#include "doctor/doctor.h"
#include "report/report.h"
#include "strbuf.h"

struct arguments {
	struct output output;
	struct doctor_options options;
	const char *root; /* NULL: this machine */
};

const struct option_row doctor_rows[] = {
	{"--root", "DIR",
	 "check a recorded machine: DIR has copies of its /etc, /proc, /sys, /dev and /usr/lib*",
	 TEXT_TO(struct arguments, root)},
	{"--all", NULL, "show user names, host names and home folders too",
	 FLAG_TO(struct arguments, options.all)},
	FORMAT_ROWS("text|json", "output format"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap doctor [OPTIONS] [-- PROGRAM [ARGUMENT...]]\n"
	"\n"
	"Checks this machine before you start a job: the driver and its libraries, device\n"
	"files, containers, the state of the GPUs, limits, and the links between GPUs. It\n"
	"reports problems, what it found, and what it could not check. The report has no\n"
	"user names, host names or home folders, so that it can be pasted into an issue.\n"
	"\n"
	"Without PROGRAM it looks at python3 of PATH, VIRTUAL_ENV and CONDA_PREFIX: which\n"
	"PyTorch, JAX, TensorFlow or CuPy each has, whether the driver is new enough for\n"
	"it, and which python3 a command without a path would use.\n"
	"\n"
	"With PROGRAM (an ELF program, a Python program, or the python3 of a virtual\n"
	"environment), doctor compares the libraries that PROGRAM would load with the\n"
	"driver and the GPUs. It does not run PROGRAM and imports nothing.\n"
	"\n"
	"  gpumap doctor\n"
	"  gpumap doctor -- venv/bin/python3 train.py\n"
	"  gpumap doctor --root recorded --json\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 nothing wrong was found; 1 a warning or an error was found, the\n"
	"program could not be checked, or no GPU can be used; 2 malformed options, or a\n"
	"folder that cannot be read.\n";

/* "8xH100" */
static bool is_machine(const char *word)
{
	return is_digit(*word) && word[strspn(word, "0123456789")] == 'x' && access(word, F_OK);
}

static int refuse_machine(const char *word, gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	hint_fill(&fix, "write gpumap pretend --inventory @ -- gpumap doctor",
		  (char *[]){(char *)(uintptr_t)word, NULL});
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION, ABOUT(.fix = fix.text),
			   "'%s' is a machine, not a program", QUOTE(span_of(word)));
}

static int read_options(struct arguments *a, int argc, char **argv)
{
	gpumap_report *report = a->output.report;
	struct options options;

	options_init(&options, "doctor", doctor_rows, a, NO_KEYS, argc, argv);
	/* The options after it are the program's. */
	if (options_next_own(&options, &a->output, help))
		a->options.program = (const char *const *)options_rest(&options);
	if (options.code != GPUMAP_OK)
		return options.code;
	if (a->root && !*a->root)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--root",
					 .fix = "name a folder; leave --root out for this machine"),
				   "the folder has no name");
	if (options.ended && !a->options.program)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write it after --, or leave -- out"),
				   "no program is named");
	if (!options.ended && a->options.program && is_machine(*a->options.program))
		return refuse_machine(*a->options.program, report);
	a->options.root = a->root ? a->root : "";
	return refuse_picture(&a->output, "a report has no picture");
}

static int print_answer(const struct arguments *a, const struct doctor *doctor)
{
	struct strbuf buf = {.styled = color_on(STDOUT_FILENO)};

	if (a->output.format == GPUMAP_FORMAT_JSON)
		doctor_json(&buf, doctor);
	else
		doctor_text(&buf, doctor);
	return print_buffer(&buf, a->output.report);
}

int cmd_doctor(int argc, char **argv)
{
	struct arguments a = {.output.format = wanted_format(argc, argv),
			      .options = {.environ = (const char *const *)environ}};
	struct doctor *doctor = NULL;
	bool right = false;
	int r;

	a.output.report = report_begin();
	r = read_options(&a, argc, argv);
	if (r == GPUMAP_OK)
		r = doctor_new(&doctor, &a.options, a.output.report);
	if (r == GPUMAP_OK) {
		right = !doctor_wrong(doctor);
		r = print_answer(&a, doctor);
	}
	doctor_free(doctor);
	return finish(&a.output, r, right);
}
