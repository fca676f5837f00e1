/* SPDX-License-Identifier: MIT */
/* gpumap ps: who uses which GPU. */
#include "command.h"

#include <unistd.h>

#include "cli/color.h"
#include "live/ps.h"
#include "report/report.h"
#include "text.h"

enum { SECONDS = 2, MAX_SECONDS = 86400 };

struct arguments {
	struct output output;
	struct ps_view view;
	int64_t seconds; /* between two frames; 0: only one */
};

const struct option_row ps_rows[] = {
	{"--gpus", "LIST", "show only these GPUs, numbers of nvidia-smi or UUIDs",
	 TEXT_TO(struct arguments, view.gpus)},
	{"--stale", NULL,
	 "show only ranks whose run has ended, leases whose process has ended, and memory "
	 "without a process",
	 FLAG_TO(struct arguments, view.stale)},
	{"--follow", "[SECONDS]", "refresh every SECONDS (default 2)", 0},
	FORMAT_ROWS("text|json", "output format"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap ps [OPTIONS]\n"
	"\n"
	"Shows who uses the GPUs of this machine: for each GPU its memory, load and\n"
	"temperature, and for each of its processes the user, the age, the memory, and\n"
	"the process's own name for the GPU, such as cuda:1. gpumap computes that name\n"
	"from the environment of the process (readable by its user and root), or from the\n"
	"list that gpumap run published for the rank. Memory without a process is called\n"
	"stale only in the initial pid namespace, where all processes are visible. gpumap\n"
	"ps never ends a process.\n"
	"\n"
	"  gpumap ps\n"
	"  gpumap ps --follow=5\n"
	"  gpumap ps --gpus 2,3\n"
	"  gpumap ps --stale\n"
	"  gpumap ps --json\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 success, 1 no NVML, or no GPU, or it is not visible which GPUs\n"
	"are leased, 2 malformed input.\n";

static int read_option(struct arguments *a, const struct options *options, const char *name)
{
	gpumap_report *report = a->output.report;

	if (streq(name, "--follow")) {
		a->seconds = SECONDS;
		return options->value ? option_number(name, options->value, "seconds", 1,
						      MAX_SECONDS, &a->seconds, report)
				      : GPUMAP_OK;
	}
	return operand_refuse(options->operand,
			      "gpumap ps --gpus 2 shows GPU 2, --follow=5 repeats it every 5 s; "
			      "gpumap --pid N explains one process",
			      report);
}

static int read_options(struct arguments *a, int argc, char **argv)
{
	struct options options;
	const char *name;

	options_init(&options, "ps", ps_rows, a, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &a->output, help)))
		options.code = read_option(a, &options, name);
	return options.code == GPUMAP_OK
		       ? refuse_picture(&a->output, "what runs now has no picture")
		       : options.code;
}

static int print_once(const struct arguments *a, bool *any)
{
	struct strbuf buf = {0};
	struct ps ps;
	bool json = a->output.format == GPUMAP_FORMAT_JSON;
	int r = ps_read(&ps, json, a->output.report);

	if (r != GPUMAP_OK)
		return r;
	ps_read_leases(&ps, a->output.report);
	if (a->view.gpus && ps_keep(&ps, a->view.gpus, a->output.report)) {
		ps_free(&ps);
		return GPUMAP_EINPUT;
	}
	*any = ps.count > 0 && ps.leases_known;
	if (json)
		ps_json(&buf, &ps, &a->view, a->output.report);
	else
		ps_text(&buf, &ps, &a->view);
	ps_free(&ps);
	return print_buffer(&buf, a->output.report);
}

int cmd_ps(int argc, char **argv)
{
	struct arguments a = {.output.format = wanted_format(argc, argv)};
	bool any = false;
	int r;

	a.output.report = report_begin();
	r = read_options(&a, argc, argv);
	a.view.width = ps_width();
	a.view.styled = color_on(STDOUT_FILENO);
	if (r == GPUMAP_OK && a.seconds) {
		r = ps_follow(&a.view, a.seconds, a.output.format == GPUMAP_FORMAT_JSON,
			      a.output.report);
		any = r == GPUMAP_OK;
	} else if (r == GPUMAP_OK) {
		r = print_once(&a, &any);
	}
	return finish(&a.output, r, any);
}
