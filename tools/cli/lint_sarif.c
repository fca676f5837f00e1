/* SPDX-License-Identifier: MIT */
/* The findings for tools that show them beside the code: SARIF 2.1.0, and annotations of GitHub. */
#include "cli/lint_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain/json.h"
#include "memory.h"
#include "report/report.h"

/* Whether the finding is about a file. */
static bool has_file(const gpumap_finding *f)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	CLEANUP_FREE char *path = NULL;

	if (!origin)
		return false;
	if (gpumap_finding_int(f, GPUMAP_FINDING_LINE) > 0)
		return true;
	path = lint_path(origin);
	return access(path, F_OK) == 0;
}

/* "text; remedy" */
static char *message(const gpumap_finding *f)
{
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
	struct strbuf text = {0};

	strbuf_printf(&text, "%s%s%s", gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? "; " : "",
		      fix ? fix : "");
	return strbuf_take(&text);
}

/* --- SARIF ------------------------------------------------------------------------------ */

static json_t *text_json(const char *text)
{
	return JSON_OBJECT({"text", json_text(text ? text : "")});
}

static json_t *message_json(const gpumap_finding *f)
{
	CLEANUP_FREE char *text = message(f);

	return text_json(text);
}

static const char *level(const gpumap_finding *f)
{
	static const char *const levels[] = {"note", "warning", "error"};

	return levels[gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY)];
}

/* The path as a reference (RFC 3986): relative as it was given, or file:///... */
static json_t *uri_json(const char *path)
{
	struct strbuf uri = {0};
	unsigned char byte;
	CLEANUP_FREE char *text = NULL;

	if (*path == '/')
		strbuf_puts(&uri, "file://");
	for (; *path;) {
		path += lint_byte(path, &byte);
		if (is_digit((char)byte) || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
		    (byte && strchr("-._~/", byte)))
			strbuf_add(&uri, (const char *)&byte, 1);
		else
			strbuf_printf(&uri, "%%%02X", byte);
	}
	text = strbuf_take(&uri);
	return json_text(text);
}

/* An array of one. A finding without a line has the name of its variable or option. */
static json_t *locations_json(const gpumap_finding *f, struct lint_columns *columns)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	json_t *place, *region;
	int64_t column;

	if (!has_file(f)) {
		place = JSON_OBJECT({"name", json_text(origin ? origin : "gpumap")});
		place = JSON_OBJECT({"logicalLocations", JSON_LIST(i, 1, place)});
		return JSON_LIST(i, 1, place);
	}
	place = JSON_OBJECT({"artifactLocation", JSON_OBJECT({"uri", uri_json(origin)})});
	if (line > 0) {
		column = lint_column(columns, f);
		region = JSON_OBJECT({"startLine", json_integer(line)});
		if (column > 0)
			json_put(&region, "startColumn", json_integer(column));
		json_put(&place, "region", region);
	}
	return JSON_LIST(i, 1, JSON_OBJECT({"physicalLocation", place}));
}

static json_t *rule_json(const gpumap_finding *f)
{
	return JSON_OBJECT(
		{"id", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID))},
		{"shortDescription", text_json(gpumap_finding_str(f, GPUMAP_FINDING_MEANING))},
		{"fullDescription", text_json(gpumap_finding_str(f, GPUMAP_FINDING_CAUSE))},
		{"help", text_json(gpumap_finding_str(f, GPUMAP_FINDING_REMEDY))},
		{"defaultConfiguration", JSON_OBJECT({"level", json_text(level(f))})});
}

/* The place of a finding's id among those that were found, in the order of ids. */
static size_t rule_place(const char *const *ids, const gpumap_finding *f)
{
	size_t i = 0;

	while (ids[i] && !streq(ids[i], gpumap_finding_str(f, GPUMAP_FINDING_ID)))
		i++;
	return i;
}

/* The findings that a report has first of their ids, which are added to `ids`. */
static json_t *rules_json(const gpumap_report *found, const char **ids)
{
	json_t *rules = json_array();
	const gpumap_finding *f;
	size_t count = 0;

	for (size_t i = 0; (f = gpumap_report_get(found, i)); i++)
		if (!ids[rule_place(ids, f)]) {
			ids[count++] = gpumap_finding_str(f, GPUMAP_FINDING_ID);
			json_push(&rules, rule_json(f));
		}
	return rules;
}

/* `ids` NULL: errors of the command line and of reading. */
static json_t *result_json(const gpumap_finding *f, const char *const *ids,
			   struct lint_columns *columns)
{
	json_t *o = json_object();

	if (ids) {
		json_put(&o, "ruleId", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID)));
		json_put(&o, "ruleIndex", json_integer((json_int_t)rule_place(ids, f)));
	}
	json_put(&o, "level", json_text(level(f)));
	json_put(&o, "message", message_json(f));
	json_put(&o, "locations", locations_json(f, columns));
	return o;
}

static json_t *results_json(const gpumap_report *report, const char *const *ids)
{
	struct lint_columns columns = {0};
	json_t *results = JSON_LIST(i, gpumap_report_count(report),
				    result_json(gpumap_report_get(report, i), ids, &columns));

	lint_columns_free(&columns);
	return results;
}

void lint_sarif(struct strbuf *text, const gpumap_report *found, const gpumap_report *report)
{
	CLEANUP_FREE const char **ids = xcalloc(gpumap_report_count(found) + 1, sizeof(*ids));
	json_t *rules = rules_json(found, ids);
	json_t *driver = JSON_OBJECT({"name", json_text("gpumap")},
				     {"version", json_text(gpumap_version())}, {"rules", rules});
	json_t *invocation =
		JSON_OBJECT({"executionSuccessful", json_boolean(!gpumap_report_count(report))},
			    {"toolExecutionNotifications", results_json(report, NULL)});
	json_t *run = JSON_OBJECT({"tool", JSON_OBJECT({"driver", driver})},
				  {"invocations", JSON_LIST(i, 1, invocation)},
				  {"columnKind", json_text("unicodeCodePoints")},
				  {"results", results_json(found, ids)});

	json_dump(
		text,
		JSON_OBJECT({"$schema", json_text("https://json.schemastore.org/sarif-2.1.0.json")},
			    {"version", json_text("2.1.0")}, {"runs", JSON_LIST(i, 1, run)}));
}

/* --- GitHub ----------------------------------------------------------------------------- */

/* A workflow command ends with its line; in its properties : and , mean something too. */
static void put_escaped(struct strbuf *text, const char *value, bool property)
{
	for (; *value; value++) {
		if (strchr("%\r\n", *value) || (property && strchr(":,", *value)))
			strbuf_printf(text, "%%%02X", (unsigned char)*value);
		else
			strbuf_add(text, value, 1);
	}
}

static void put_path(struct strbuf *text, const char *origin)
{
	unsigned char bytes[2] = {0, 0};

	while (*origin) {
		origin += lint_byte(origin, &bytes[0]);
		if (bytes[0] < ' ' || bytes[0] == 0x7f)
			strbuf_printf(text, "%%%02X", bytes[0]);
		else
			put_escaped(text, (const char *)bytes, true);
	}
}

static void put_annotation(struct strbuf *text, const gpumap_finding *f,
			   struct lint_columns *columns)
{
	static const char *const commands[] = {"notice", "warning", "error"};
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	bool file = has_file(f);
	int64_t column = file ? lint_column(columns, f) : 0;
	CLEANUP_FREE char *words = message(f);

	strbuf_printf(text, "::%s ", commands[gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY)]);
	if (file) {
		strbuf_puts(text, "file=");
		put_path(text, origin);
		strbuf_puts(text, ",");
	}
	if (file && line > 0)
		strbuf_printf(text, "line=%lld,", (long long)line);
	if (file && line > 0 && column > 0)
		strbuf_printf(text, "col=%lld,", (long long)column);
	strbuf_printf(text, "title=%s::", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	if (!file && origin) {
		put_escaped(text, origin, false);
		strbuf_puts(text, ": ");
	}
	put_escaped(text, words, false);
	strbuf_puts(text, "\n");
}

void lint_github(struct strbuf *text, const gpumap_report *found, const gpumap_report *report)
{
	struct lint_columns columns = {0};
	const gpumap_finding *f;

	for (size_t i = 0; (f = gpumap_report_get(found, i)); i++)
		put_annotation(text, f, &columns);
	for (size_t i = 0; (f = gpumap_report_get(report, i)); i++)
		put_annotation(text, f, &columns);
	lint_columns_free(&columns);
}
