/* SPDX-License-Identifier: MIT */
/* What commands print, and their exit statuses. */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/color.h"
#include "report/report.h"
#include "style.h"
#include "text.h"
#include "text_cells.h"
#include "write_all.h"

enum style severity_style(int64_t severity)
{
	return severity == GPUMAP_SEVERITY_ERROR     ? STYLE_ERROR
	       : severity == GPUMAP_SEVERITY_WARNING ? STYLE_WARNING
						     : STYLE_REMARK;
}

/* The width of a terminal; SIZE_MAX: standard error is none. */
static size_t error_width(void)
{
	struct winsize size = {.ws_col = 0};

	return isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col
		       ? size.ws_col
		       : SIZE_MAX;
}

/* A message on as many lines as its words need. Nothing is allocated, since it may be that memory
 * ran out. It is one write, so that messages of several processes do not mix, unless it is longer
 * than the text. */
struct message {
	char text[8192];
	size_t length, column, width, blanks; /* blanks: that stand before the next word */
};

static void message_write(struct message *m)
{
	fwrite(m->text, 1, m->length, stderr);
	m->length = 0;
}

static void put(struct message *m, const char *text, size_t length)
{
	if (length > sizeof(m->text) - m->length)
		message_write(m);
	if (length > sizeof(m->text)) {
		fwrite(text, 1, length, stderr);
		return;
	}
	memcpy(m->text + m->length, text, length);
	m->length += length;
}

static void put_words(struct message *m, const char *text)
{
	while (*text) {
		size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " ");
		size_t cells = text_cells(text + blanks, length);

		m->blanks += blanks;
		text += blanks + length;
		if (!length)
			return;
		if (m->blanks && m->column > 2 && m->column + m->blanks + cells > m->width) {
			put(m, "\n  ", 3);
			m->column = 2;
			m->blanks = 0;
		}
		for (; m->blanks; m->blanks--, m->column++)
			put(m, " ", 1);
		put(m, text - length, length);
		m->column += cells;
	}
}

static void put_code(struct message *m, bool styled, enum style style)
{
	const char *code = style_code(styled, style);

	put(m, code, strlen(code));
}

static void put_finding(struct message *m, const gpumap_finding *f)
{
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
	char place[64] = ": ";

	if (line > 0 && column > 0)
		snprintf(place, sizeof(place), ":%lld:%lld: ", (long long)line, (long long)column);
	else if (line > 0)
		snprintf(place, sizeof(place), ":%lld: ", (long long)line);
	put_words(m, origin ? origin : "");
	put_words(m, origin ? place : "");
	put_words(m, gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	put_words(m, fix ? "; " : "");
	put_words(m, fix ? fix : "");
}

static void print_finding(const gpumap_finding *f)
{
	static const char *const heads[] = {
		"gpumap: remark: ", "gpumap: warning: ", "gpumap: error: "};
	int64_t severity = gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY);
	bool styled = color_on(STDERR_FILENO);
	struct message m;
	char id[16];

	m.length = m.column = m.blanks = 0;
	m.width = error_width();
	snprintf(id, sizeof(id), "[%s]", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	put_code(&m, styled, severity_style(severity));
	put_words(&m, heads[severity]);
	put_code(&m, styled, STYLE_PLAIN);
	put_finding(&m, f);
	put_words(&m, " ");
	put_code(&m, styled, STYLE_FAINT);
	put_words(&m, id);
	put_code(&m, styled, STYLE_PLAIN);
	put(&m, "\n", 1);
	message_write(&m);
}

size_t print_report(const struct output *output, size_t from)
{
	size_t count = gpumap_report_count(output->report);

	for (size_t i = from; i < count; i++)
		print_finding(gpumap_report_get(output->report, i));
	return count;
}

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
