/* SPDX-License-Identifier: MIT */
/* Reports: a list of findings, each with its text, remedy and place. */
#include "report/report.h"

#include <errno.h>
#include <strings.h>

#include "memory.h"
#include "strbuf.h"

struct gpumap_finding {
	enum finding_id id;
	char *rule, *text, *fix, *origin;
	int line, column;
};

struct gpumap_report {
	gpumap_finding **findings;
	size_t count, room;
	bool nomem;
};

static const struct row {
	const char *id, *meaning;
	enum gpumap_severity severity;
	const char *cause, *rule, *example, *remedy;
} findings[] = {
#define FINDING(number, name, weight, text, ...) \
	{.id = number, .severity = GPUMAP_SEVERITY_##weight, .meaning = text, __VA_ARGS__},
#include "report/findings.def"
#undef FINDING
};

/* The findings without a text of their own, one for each id. */
static const gpumap_finding unreported[] = {
#define FINDING(number, name, ...) {.id = FINDING_##name},
#include "report/findings.def"
#undef FINDING
};

EXPORT int gpumap_report_new(gpumap_report **ret)
{
	gpumap_report *report = xcalloc(1, sizeof(*report));

	if (!report)
		return GPUMAP_ENOMEM;
	*ret = report;
	return GPUMAP_OK;
}

static void finding_free(gpumap_finding *finding)
{
	if (!finding)
		return;
	free(finding->rule);
	free(finding->text);
	free(finding->fix);
	free(finding->origin);
	free(finding);
}

EXPORT void gpumap_report_free(gpumap_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->count; i++)
		finding_free(report->findings[i]);
	free(report->findings);
	free(report);
}

EXPORT size_t gpumap_report_count(const gpumap_report *report)
{
	return report ? report->count + report->nomem : 0;
}

EXPORT const gpumap_finding *gpumap_report_get(const gpumap_report *report, size_t i)
{
	if (!report || i >= gpumap_report_count(report))
		return NULL;
	return i < report->count ? report->findings[i] : &unreported[FINDING_NOMEM];
}

EXPORT int gpumap_report_worst(const gpumap_report *report)
{
	int worst = -1;

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if ((int)findings[f->id].severity > worst)
			worst = (int)findings[f->id].severity;
	}
	return worst;
}

EXPORT const char *gpumap_finding_str(const gpumap_finding *finding,
				      enum gpumap_finding_str_attr attr)
{
	const struct row *row;

	if (!finding)
		return NULL;
	row = &findings[finding->id];
	return TEXT_AT(
		attr, [GPUMAP_FINDING_ID] = row->id,
		[GPUMAP_FINDING_RULE] = finding->text ? finding->rule : row->rule,
		[GPUMAP_FINDING_TEXT] = finding->text ? finding->text : row->meaning,
		[GPUMAP_FINDING_FIX] = finding->fix, [GPUMAP_FINDING_ORIGIN] = finding->origin,
		[GPUMAP_FINDING_MEANING] = row->meaning, [GPUMAP_FINDING_CAUSE] = row->cause,
		[GPUMAP_FINDING_EXAMPLE] = row->example, [GPUMAP_FINDING_REMEDY] = row->remedy);
}

EXPORT int64_t gpumap_finding_int(const gpumap_finding *finding, enum gpumap_finding_int_attr attr)
{
	if (!finding)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_FINDING_SEVERITY) = findings[finding->id].severity,
			 NUMBERED(GPUMAP_FINDING_LINE) = finding->line ? finding->line : -1,
			 NUMBERED(GPUMAP_FINDING_COLUMN) = finding->column ? finding->column : -1);
}

EXPORT const gpumap_finding *gpumap_finding_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		if (strcasecmp(findings[i].id, id) == 0)
			return &unreported[i];
	return NULL;
}

EXPORT const gpumap_finding *gpumap_finding_get(size_t i)
{
	return i < ARRAY_SIZE(unreported) ? &unreported[i] : NULL;
}

/* A copy with settings named in the language of their origin, and control characters escaped. */
static char *copy_spoken(const char *text, enum speech_part part, const struct about *about,
			 bool *failed)
{
	CLEANUP(strbuf_free) struct strbuf spoken = {0};
	struct strbuf buf = {0};
	char *copy;

	if (!text)
		return NULL;
	speech_put(&spoken, text, part, about->origin, about->speech);
	escape_all(&buf, spoken.text ? spoken.text : "");
	copy = strbuf_take(&buf);
	*failed = *failed || !copy || spoken.failed;
	return copy;
}

static char *copy_escaped(const char *text, bool *failed)
{
	char *copy = escaped_copy(text);

	if (text && !copy)
		*failed = true;
	return copy;
}

void report_vadd(gpumap_report *report, enum finding_id id, const struct about *about,
		 const char *format, va_list args)
{
	const struct about nothing = {0};
	CLEANUP(strbuf_free) struct strbuf text = {0};
	gpumap_finding *finding = NULL;
	bool failed = false;

	if (!report)
		return;
	if (!about)
		about = &nothing;
	strbuf_vprintf(&text, format, args);
	if (ARRAY_ROOM(report->findings, report->count, report->room))
		finding = xcalloc(1, sizeof(*finding));
	if (!finding) {
		report_nomem(report);
		return;
	}
	finding->id = id;
	finding->line = about->line;
	finding->column = about->column;
	finding->rule = copy_escaped(about->rule, &failed);
	finding->fix = copy_spoken(about->fix, SPEECH_FIX, about, &failed);
	finding->origin = copy_escaped(about->origin, &failed);
	finding->text = copy_spoken(text.text ? text.text : "", SPEECH_TEXT, about, &failed);
	if (!failed && !text.failed) {
		report->findings[report->count++] = finding;
		return;
	}
	finding_free(finding);
	report_nomem(report);
}

void report_add(gpumap_report *report, enum finding_id id, const struct about *about,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_vadd(report, id, about, format, args);
	va_end(args);
}

void report_text(gpumap_report *report, enum finding_id id, const struct about *about,
		 const struct strbuf *text)
{
	if (text->failed)
		report_nomem(report);
	else
		report_add(report, id, about, "%s", text->text ? text->text : "");
}

int report_fail(gpumap_report *report, int code, enum finding_id id, const struct about *about,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_vadd(report, id, about, format, args);
	va_end(args);
	return code;
}

void report_relay(gpumap_report *report, const gpumap_finding *finding, const struct about *at)
{
	report_relay_more(report, finding, at, "");
}

void report_relay_more(gpumap_report *report, const gpumap_finding *finding, const struct about *at,
		       const char *more)
{
	struct about about = *at;

	if (finding == &unreported[FINDING_NOMEM]) {
		report_nomem(report);
		return;
	}
	about.rule = finding->rule;
	about.fix = at->fix ? at->fix : finding->fix;
	report_add(report, finding->id, &about, "%s%s",
		   gpumap_finding_str(finding, GPUMAP_FINDING_TEXT), more);
}

void report_copy(gpumap_report *report, const gpumap_finding *finding)
{
	report_relay(
		report, finding,
		ABOUT(.origin = finding->origin, .line = finding->line, .column = finding->column));
}

void report_copy_all(gpumap_report *report, const gpumap_report *from, enum finding_id left_out)
{
	for (size_t i = 0; i < gpumap_report_count(from); i++)
		if (!finding_is(gpumap_report_get(from, i), left_out))
			report_copy(report, gpumap_report_get(from, i));
}

void report_keep(gpumap_report *report, size_t from, finding_stays *stays, const void *data)
{
	size_t kept = from;

	for (size_t i = from; report && i < report->count; i++)
		if (stays && stays(report->findings[i], data))
			report->findings[kept++] = report->findings[i];
		else
			finding_free(report->findings[i]);
	if (report && report->count > from)
		report->count = kept;
}

static bool is_another(const gpumap_finding *finding, const void *id)
{
	return !finding_is(finding, *(const enum finding_id *)id);
}

void report_drop(gpumap_report *report, size_t from, enum finding_id id)
{
	report_keep(report, from, is_another, &id);
}

bool finding_matters(const gpumap_finding *finding, const void *unused)
{
	(void)unused;
	return gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY) != GPUMAP_SEVERITY_REMARK;
}

bool finding_is(const gpumap_finding *finding, enum finding_id id)
{
	return finding->id == id;
}

int report_nomem(gpumap_report *report)
{
	memory_ran_out();
	if (report)
		report->nomem = true;
	return GPUMAP_ENOMEM;
}

bool report_lacks_memory(const gpumap_report *report)
{
	return report && report->nomem;
}

int report_read(gpumap_report *report, int error, const char *path, const char *what, size_t max,
		const char *fix)
{
	if (!error)
		return GPUMAP_OK;
	if (error == ENOMEM)
		return report_nomem(report);
	if (error == EFBIG)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = path, .fix = fix), "larger than %zu MiB",
				   max >> 20);
	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = path, .fix = fix), "cannot read %s: %s", what,
			   strerror(error));
}

const char *finding_meaning(size_t i, const char **id, enum gpumap_severity *severity)
{
	if (i >= ARRAY_SIZE(findings))
		return NULL;
	*id = findings[i].id;
	*severity = findings[i].severity;
	return findings[i].meaning;
}

enum finding_id finding_by_id(const char *id)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(findings) && !streq(findings[i].id, id))
		i++;
	return (enum finding_id)i;
}
