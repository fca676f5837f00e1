/* SPDX-License-Identifier: MIT */
/* gpumap leases: who has leased which GPUs; ends a lease. */
#include "command.h"

#include <unistd.h>

#include "cli/color.h"
#include "live/leases.h"
#include "report/report.h"
#include "text.h"

struct arguments {
	struct output output;
	bool idle;
	const char *revoke; /* NULL */
};

const struct option_row leases_rows[] = {
	{"--idle", NULL, "show only leases whose GPUs have no load and no process now",
	 FLAG_TO(struct arguments, idle)},
	{"--revoke", "GPU|pid:PID",
	 "end the lease on GPU, or the one whose PID column shows PID. Its programs are not "
	 "stopped, and other jobs may take its GPUs. Only root may end another user's lease",
	 TEXT_TO(struct arguments, revoke)},
	FORMAT_ROWS("text|json", "output format"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap leases [OPTIONS]\n"
	"\n"
	"Lists the leases of this machine's GPUs: who has taken each, what holds it (a\n"
	"program, a run, a shell or another process), the time left, and the current load\n"
	"of its GPUs.\n"
	"\n"
	"  gpumap leases\n"
	"  gpumap leases --idle\n"
	"  gpumap leases --revoke 3\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 success, 1 the lease cannot be ended, or not all leases are visible,\n"
	"2 malformed input.\n";

static int read_options(struct arguments *a, int argc, char **argv)
{
	struct options options;

	options_init(&options, "leases", leases_rows, a, NO_KEYS, argc, argv);
	if (options_next_own(&options, &a->output, help))
		return operand_refuse(options.operand, "gpumap leases shows all leases",
				      a->output.report);
	if (options.code != GPUMAP_OK)
		return options.code;
	if (a->revoke && (a->idle || a->output.format == GPUMAP_FORMAT_JSON))
		return report_fail(a->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--revoke", .fix = "leave out one of them"),
				   "to revoke a lease is not to list leases, as %s asks",
				   a->idle ? "--idle" : "--json");
	return refuse_picture(&a->output, "leases have no picture");
}

/* *answered: false for a lease that could not be revoked. */
static int answer(const struct arguments *a, struct strbuf *buf, bool *answered)
{
	struct leases leases;
	int r = leases_read(&leases, a->output.report);

	if (r != GPUMAP_OK)
		return r;
	*answered = leases.known || a->revoke;
	if (a->revoke)
		r = leases_revoke(buf, &leases, a->revoke, a->output.report);
	else if (a->output.format == GPUMAP_FORMAT_JSON)
		leases_json(buf, &leases, a->idle, a->output.report);
	else
		leases_text(buf, &leases, a->idle);
	leases_free(&leases);
	if (r == GPUMAP_EINPUT) {
		*answered = false;
		return GPUMAP_OK;
	}
	return r;
}

int cmd_leases(int argc, char **argv)
{
	struct arguments a = {.output.format = wanted_format(argc, argv)};
	CLEANUP(strbuf_free) struct strbuf buf = {.styled = color_on(STDOUT_FILENO)};
	bool answered = false;
	int r;

	a.output.report = report_begin();
	r = read_options(&a, argc, argv);
	if (r == GPUMAP_OK)
		r = answer(&a, &buf, &answered);
	if (r == GPUMAP_OK && buf.length)
		r = print_text(buf.text, a.output.report);
	return finish(&a.output, r, answered);
}
