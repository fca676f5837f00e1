/* SPDX-License-Identifier: MIT */
/* What commands print, and their exit statuses. */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/color.h"
#include "report/report.h"
#include "text.h"
#include "write_all.h"

bool report_has(const gpumap_report *report, enum finding_id id)
{
	const gpumap_finding *f;
	size_t i = 0;

	while ((f = gpumap_report_get(report, i)) && !finding_is(f, id))
		i++;
	return f;
}

int print_text(const char *text, gpumap_report *report)
{
	if (fputs(text, stdout) >= 0 && fflush(stdout) == 0 && !ferror(stdout))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EFILE, FINDING_OUTPUT,
			   ABOUT(.origin = "standard output", .fix = write_remedy(errno)),
			   "cannot write: %s", strerror(errno));
}

int print_buffer(struct strbuf *buf, gpumap_report *report)
{
	int r = buf->failed ? report_nomem(report) : print_text(buf->text ? buf->text : "", report);

	strbuf_free(buf);
	return r;
}

gpumap_report *report_begin(void)
{
	gpumap_report *report = new_report();

	if (!report)
		memory_ran_out();
	return report;
}

int finish_help(void)
{
	struct output output = {0};

	output.report = report_begin();
	return finish(&output, GPUMAP_OK, true);
}

static int no_mapping(char **text, const struct output *output)
{
	return gpumap_mapping_format(text, NULL, GPUMAP_FORMAT_JSON, 0, output->report);
}

int finish(const struct output *output, int code, bool answered)
{
	int status = answered || code == OPTIONS_HELP ? STATUS_ANSWERED : STATUS_NO;
	CLEANUP_FREE char *text = NULL;

	/* The help text is still in the buffer. */
	if (code == GPUMAP_OK || code == OPTIONS_HELP)
		code = print_text("", output->report);
	if (code == GPUMAP_ENOMEM)
		report_nomem(output->report);
	if (code != GPUMAP_OK && output->format == GPUMAP_FORMAT_JSON && !ferror(stdout)) {
		if ((output->no_answer ? output->no_answer : no_mapping)(&text, output) !=
		    GPUMAP_OK)
			code = report_nomem(output->report);
		else if (print_text(text, output->report) != GPUMAP_OK)
			code = GPUMAP_EFILE;
	}
	if ((code != GPUMAP_OK && code != GPUMAP_ENODRIVER) || report_lacks_memory(output->report))
		status = STATUS_MALFORMED;
	print_report(output, 0);
	gpumap_report_free(output->report);
	return status;
}

/* --format, or --json. */
static int format_option(const struct options *options, struct output *output, const char *name)
{
	const char *words = options_find(options, span_of(name))->value, *value = options->value;
	int place = GPUMAP_FORMAT_JSON, r = GPUMAP_OK;

	/* refuse_picture() has the reason. */
	if (words)
		r = option_word(name, streq(value, "svg") ? "text|json|svg" : words, value, &place,
				output->report);
	if (r != GPUMAP_OK)
		return r;
	output->value = place > GPUMAP_FORMAT_SVG ? place - GPUMAP_FORMAT_SVG : 0;
	output->format = output->value ? GPUMAP_FORMAT_TEXT : (enum gpumap_format)place;
	return r;
}

const char *options_next_own(struct options *options, struct output *output, const char *help)
{
	const char *name;

	while (!options->code && (name = options_next(options, output->report))) {
		bool format = streq(name, "--format") || streq(name, "--json");

		if (streq(name, "--help")) {
			options_help(options, help);
			options->code = OPTIONS_HELP;
		} else if (streq(name, "--color")) {
			options->code = color_option(options->value, output->report);
		} else if (format && !output->own_format) {
			options->code = format_option(options, output, name);
		} else {
			return name;
		}
	}
	return NULL;
}

int refuse_picture(const struct output *output, const char *why)
{
	if (output->format != GPUMAP_FORMAT_SVG)
		return GPUMAP_OK;
	return report_fail(output->report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = "--format", .fix = "write text or json"), "%s", why);
}

enum gpumap_format wanted_format(int argc, char **argv)
{
	for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "--json") || streq(argv[i], "--format=json") ||
		    (streq(argv[i], "--format") && i + 1 < argc && streq(argv[i + 1], "json")))
			return GPUMAP_FORMAT_JSON;
	return GPUMAP_FORMAT_TEXT;
}
