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
	char *path;
	bool found;

	if (!origin)
		return false;
	if (gpumap_finding_int(f, GPUMAP_FINDING_LINE) > 0)
		return true;
	path = lint_path(origin);
	found = access(path, F_OK) == 0;
	free(path);
	return found;
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

static json_t *text_json(const char *text, bool *failed)
{
	return JSON_OBJECT(failed, {"text", json_text(text ? text : "")});
}

static json_t *message_json(const gpumap_finding *f, bool *failed)
{
	char *text = message(f);
	json_t *o;

	o = text_json(text, failed);
	free(text);
	return o;
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
	char *text;
	json_t *o;

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
	o = json_text(text);
	free(text);
	return o;
}

/* A finding without a line has the name of its variable or option. */
static json_t *location_json(const gpumap_finding *f, struct lint_columns *columns, bool *failed)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	int64_t column;
	json_t *physical, *region, *names;

	if (!has_file(f)) {
		names = json_array();
		json_push(names,
			  JSON_OBJECT(failed, {"name", json_text(origin ? origin : "gpumap")}),
			  failed);
		return JSON_OBJECT(failed, {"logicalLocations", names});
	}
	physical = JSON_OBJECT(
		failed, {"artifactLocation", JSON_OBJECT(failed, {"uri", uri_json(origin)})});
	if (line > 0) {
		region = JSON_OBJECT(failed, {"startLine", json_integer(line)});
		column = lint_column(columns, f);
		if (column > 0)
			json_put(region, "startColumn", json_integer(column), failed);
		json_put(physical, "region", region, failed);
	}
	return JSON_OBJECT(failed, {"physicalLocation", physical});
}

static json_t *rule_json(const gpumap_finding *f, bool *failed)
{
	return JSON_OBJECT(
		failed, {"id", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID))},
		{"shortDescription",
		 text_json(gpumap_finding_str(f, GPUMAP_FINDING_MEANING), failed)},
		{"fullDescription", text_json(gpumap_finding_str(f, GPUMAP_FINDING_CAUSE), failed)},
		{"help", text_json(gpumap_finding_str(f, GPUMAP_FINDING_REMEDY), failed)},
		{"defaultConfiguration", JSON_OBJECT(failed, {"level", json_text(level(f))})});
}

/* The place of a finding's id among those that were found, in the order of ids. */
static size_t rule_place(const char *const *ids, const gpumap_finding *f)
{
	size_t i = 0;

	while (ids[i] && !streq(ids[i], gpumap_finding_str(f, GPUMAP_FINDING_ID)))
		i++;
	return i;
}

/* Those of all ids that a report has; *rules is described. */
static const char **rules_of(const gpumap_report *found, json_t *rules, bool *failed)
{
	const gpumap_finding *f;
	const char **ids;
	size_t all = 0, count = 0;

	while (gpumap_finding_get(all))
		all++;
	ids = xcalloc(all + 1, sizeof(*ids));
	for (size_t i = 0; (f = gpumap_report_get(found, i)); i++)
		if (!ids[rule_place(ids, f)]) {
			ids[count++] = gpumap_finding_str(f, GPUMAP_FINDING_ID);
			json_push(rules, rule_json(f, failed), failed);
		}
	return ids;
}

static json_t *results_json(const gpumap_report *found, const char *const *ids, bool *failed)
{
	struct lint_columns columns = {0};
	json_t *results = json_array();
	const gpumap_finding *f;

	for (size_t i = 0; (f = gpumap_report_get(found, i)); i++) {
		json_t *locations = json_array();

		json_push(locations, location_json(f, &columns, failed), failed);
		json_push(
			results,
			JSON_OBJECT(failed,
				    {"ruleId", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID))},
				    {"ruleIndex", json_integer((json_int_t)rule_place(ids, f))},
				    {"level", json_text(level(f))},
				    {"message", message_json(f, failed)}, {"locations", locations}),
			failed);
	}
	lint_columns_free(&columns);
	return results;
}

/* Errors of the command line and of reading. */
static json_t *invocation_json(const gpumap_report *report, bool *failed)
{
	struct lint_columns columns = {0};
	json_t *notifications = json_array();
	const gpumap_finding *f;

	for (size_t i = 0; (f = gpumap_report_get(report, i)); i++) {
		json_t *locations = json_array();

		json_push(locations, location_json(f, &columns, failed), failed);
		json_push(notifications,
			  JSON_OBJECT(failed, {"level", json_text(level(f))},
				      {"message", message_json(f, failed)},
				      {"locations", locations}),
			  failed);
	}
	lint_columns_free(&columns);
	return JSON_OBJECT(failed,
			   {"executionSuccessful", json_boolean(!gpumap_report_count(report))},
			   {"toolExecutionNotifications", notifications});
}

void lint_sarif(struct strbuf *text, const gpumap_report *found, const gpumap_report *report)
{
	bool failed = false;
	json_t *rules = json_array(), *runs = json_array(), *invocations = json_array();
	const char **ids = rules_of(found, rules, &failed);
	json_t *log,
		*driver = JSON_OBJECT(&failed, {"name", json_text("gpumap")},
				      {"version", json_text(gpumap_version())}, {"rules", rules});

	json_push(invocations, invocation_json(report, &failed), &failed);
	json_push(runs,
		  JSON_OBJECT(&failed, {"tool", JSON_OBJECT(&failed, {"driver", driver})},
			      {"invocations", invocations},
			      {"columnKind", json_text("unicodeCodePoints")},
			      {"results", results_json(found, ids, &failed)}),
		  &failed);
	free(ids);
	log = JSON_OBJECT(&failed,
			  {"$schema", json_text("https://json.schemastore.org/sarif-2.1.0.json")},
			  {"version", json_text("2.1.0")}, {"runs", runs});
	json_dump(text, log, failed);
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
	char *words = message(f);

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
	free(words);
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
