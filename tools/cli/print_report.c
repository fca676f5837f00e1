/* SPDX-License-Identifier: MIT */
/* A finding as a message: "gpumap: error: SUBJECT: ...; remedy [GMnnn]". */
#include "cli/output.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/color.h"
#include "text_cells.h"

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
