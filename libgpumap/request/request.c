/* SPDX-License-Identifier: MIT */
/* What is stated: statements and keys. */
#include "request/request.h"

#include "memory.h"
#include "report/report.h"
#include "suggest.h"

EXPORT int gpumap_request_new(gpumap_request **ret)
{
	gpumap_request *request = xcalloc(1, sizeof(*request));

	if (!request)
		return GPUMAP_ENOMEM;
	*ret = request;
	return GPUMAP_OK;
}

EXPORT void gpumap_request_free(gpumap_request *request)
{
	if (!request)
		return;
	for (size_t i = 0; i < request->count; i++) {
		free(request->statements[i].value);
		free(request->statements[i].origin);
	}
	free(request->statements);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		free(request->values[i]);
		free(request->origins[i]);
	}
	free(request);
}

int request_add(gpumap_request *request, struct statement statement, const char *value,
		const char *origin, gpumap_report *report)
{
	if (request->count >= GPUMAP_MAX_DEVICES)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "more than %d statements", GPUMAP_MAX_DEVICES);
	if (!ARRAY_ROOM(request->statements, request->count, request->room))
		return report_nomem(report);
	statement.value = value ? xstrdup(value) : NULL;
	statement.origin = escaped_copy(origin);
	if ((value && !statement.value) || (origin && !statement.origin)) {
		free(statement.value);
		free(statement.origin);
		return report_nomem(report);
	}
	request->statements[request->count++] = statement;
	return GPUMAP_OK;
}

/* Of the keys that are statements. */
static const enum source sources[KEY_COUNT] = {
#define KEY(name, option, environment, kind, value, help)
#define STATED_BY(name, source) [KEY_##name] = SOURCE_##source,
#include "request/keys.def"
#undef KEY
};

/* A statement without a variable's name is about the list that the dialect reads. The dialect may
 * be set later, so resolve fills in the name. */
static int set_statement(gpumap_request *request, enum key_id id, const char *text,
			 const char *origin, gpumap_report *report)
{
	struct statement statement = {.source = sources[id]};
	struct span other = {"", 0};
	const char *value, *near;

	if (statement_parse(text, VARIABLE_COUNT, &statement.variable, &statement.verb, &value,
			    &other))
		return request_add(request, statement, value, origin, report);
	near = misspelt_variable(other);
	if (near)
		report_add(report, FINDING_MISSPELT_VARIABLE,
			   ABOUT(.rule = "S7", .origin = origin, .fix = DID_YOU_MEAN(near, NULL)),
			   "no program reads '%s'", QUOTE(other));
	else
		report_add(report, FINDING_IGNORED_KEY, ABOUT(.origin = origin),
			   "%s does not decide which devices are visible", QUOTE(other));
	return GPUMAP_OK;
}

static int set_value(gpumap_request *request, enum key_id id, const char *value, const char *origin,
		     gpumap_report *report)
{
	char *copy = xstrdup(value), *from = escaped_copy(origin);

	if (!copy || (origin && !from)) {
		free(copy);
		free(from);
		return report_nomem(report);
	}
	free(request->values[id]);
	free(request->origins[id]);
	request->values[id] = copy;
	request->origins[id] = from;
	return GPUMAP_OK;
}

static int unknown_key(const char *name, const char *origin, gpumap_report *report)
{
	const char *names[KEY_COUNT + 1] = {0};
	const char *near;

	for (size_t i = 0; i < KEY_COUNT; i++)
		names[i] = key_get((enum key_id)i)->name;
	near = suggest(span_of(name), names);
	return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY,
			   ABOUT(.origin = origin, .fix = DID_YOU_MEAN(near, NULL)),
			   "no such key: '%s'", QUOTE(span_of(name)));
}

EXPORT int gpumap_request_set(gpumap_request *request, const char *name, const char *value,
			      const char *origin, gpumap_report *report)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const gpumap_key *key = key_get((enum key_id)i);
		int r;

		if (!streq(name, key->name))
			continue;
		if (key->kind == KIND_STATEMENT)
			return set_statement(request, (enum key_id)i, value, origin, report);
		r = key_check(key, value, origin, report);
		return r == GPUMAP_OK ? set_value(request, (enum key_id)i, value, origin, report)
				      : r;
	}
	return unknown_key(name, origin, report);
}

bool request_states(const gpumap_request *request, enum key_id id)
{
	const gpumap_key *key = key_get(id);

	if (key->kind != KIND_STATEMENT)
		return request->values[id] != NULL;
	for (size_t i = 0; i < request->count; i++)
		if (request->statements[i].source == sources[id])
			return true;
	return false;
}
