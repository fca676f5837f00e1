/* SPDX-License-Identifier: MIT */
/* The findings as lines that editors read, as JSON, or as lint_sarif.c writes them. */
#include "cli/lint_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/color.h"
#include "explain/json.h"
#include "hash.h"
#include "memory.h"
#include "report/report.h"
#include "style.h"

static const char *const words[] = {"remark", "warning", "error"};

static void print_line(struct strbuf *text, const gpumap_finding *f)
{
	int64_t severity = gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

	style_set(text, STYLE_HEADING);
	strbuf_printf(text, "%s:", origin ? origin : "gpumap");
	if (line > 0)
		strbuf_printf(text, "%lld:", (long long)line);
	if (line > 0 && column > 0)
		strbuf_printf(text, "%lld:", (long long)column);
	style_set(text, STYLE_PLAIN);
	strbuf_puts(text, " ");
	style_set(text, severity_style(severity));
	strbuf_printf(text, "%s:", words[severity]);
	style_set(text, STYLE_PLAIN);
	strbuf_printf(text, " %s%s%s ", gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? "; " : "",
		      fix ? fix : "");
	style_set(text, STYLE_FAINT);
	strbuf_printf(text, "[%s]", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	style_set(text, STYLE_PLAIN);
	strbuf_puts(text, "\n");
}

/* "2 warnings, 1 remark" */
static void print_counts(struct strbuf *text, const gpumap_report *report)
{
	size_t counts[ARRAY_SIZE(words)] = {0};
	bool any = false;

	for (size_t i = 0; i < gpumap_report_count(report); i++)
		counts[gpumap_finding_int(gpumap_report_get(report, i), GPUMAP_FINDING_SEVERITY)]++;
	for (size_t i = ARRAY_SIZE(words); i-- > 0;) {
		if (!counts[i])
			continue;
		strbuf_printf(text, "%s%zu %s%s", any ? ", " : "", counts[i], words[i],
			      counts[i] == 1 ? "" : "s");
		any = true;
	}
	strbuf_puts(text, any ? "\n" : "no findings\n");
}

/* In JSON, errors of the command line and of reading are findings too. */
static void print_json(struct strbuf *text, const gpumap_report *found, const gpumap_report *report)
{
	json_t *all = json_findings(found);

	json_join(&all, json_findings(report));
	json_dump(text, JSON_DOCUMENT("lint", {"findings", all}));
}

/* A finding's place in the output: by file in the order of reading, then by line. */
struct place {
	const gpumap_finding *finding;
	size_t file, arrival;
	int64_t line, column;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

static const char *file_of(const gpumap_finding *f)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

	return origin ? origin : "";
}

/* The first finding about the same file as finding i, which is added if it is the first. */
static size_t first_of(struct hash_index *files, const gpumap_report *report, size_t i)
{
	const char *file = file_of(gpumap_report_get(report, i));
	uint64_t hash = hash_text(HASH_START, file);

	for (size_t walk = 0, first; hash_index_next(files, hash, &walk, &first);)
		if (streq(file_of(gpumap_report_get(report, first)), file))
			return first;
	hash_index_add(files, hash, i);
	return i;
}

static void print_lines(struct strbuf *text, const gpumap_report *report)
{
	size_t count = gpumap_report_count(report);
	CLEANUP_FREE struct place *places = xcalloc(count, sizeof(*places));
	struct hash_index files = {0};

	for (size_t i = 0; i < count; i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		places[i] = (struct place){f, first_of(&files, report, i), i,
					   gpumap_finding_int(f, GPUMAP_FINDING_LINE),
					   gpumap_finding_int(f, GPUMAP_FINDING_COLUMN)};
	}
	hash_index_free(&files);
	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++)
		print_line(text, places[i].finding);
}

static void print(struct strbuf *text, const gpumap_report *found, const struct output *output,
		  enum lint_format format)
{
	switch (format) {
	case LINT_JSON:
		print_json(text, found, output->report);
		break;
	case LINT_SARIF:
		lint_sarif(text, found, output->report);
		break;
	case LINT_GITHUB:
		lint_github(text, found, output->report);
		break;
	case LINT_TEXT:
		text->styled = color_on(STDOUT_FILENO);
		print_lines(text, found);
		print_counts(text, found);
	}
}

bool lint_print(const gpumap_report *found, const struct output *output, enum lint_format format)
{
	struct strbuf text = {0};

	print(&text, found, output, format);
	return print_buffer(&text, output->report) == GPUMAP_OK;
}
