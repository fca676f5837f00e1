/* SPDX-License-Identifier: MIT */
/* What an environment states: its variables, and GPUMAP_KEY for the option --key (rule S6). */
#include "request/request.h"

#include "report/report.h"
#include "request/profile_keys.h"
#include "request/rank_identity.h"

/* Profiles read some of these variables too, and accept values that requests do not. */
static bool is_setting(const gpumap_key *key, const char *value)
{
	enum profile_key_id id = setting_key(span_of(key->name));

	return *value && id != PKEY_COUNT &&
	       profile_value_check(profile_key(id), span_of(value), ABOUT(.line = 0), NULL) ==
		       GPUMAP_OK;
}

/* GPUMAP_KEY=value (rule S6). */
static int environ_key(gpumap_request *request, struct span name, const char *value,
		       gpumap_report *report)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const gpumap_key *key = key_get((enum key_id)i);

		if (!span_is(name, key->environment))
			continue;
		if (request_states(request, (enum key_id)i))
			return GPUMAP_OK;
		if (key->kind != KIND_STATEMENT && is_setting(key, value) &&
		    key_check(key, value, NULL, NULL) != GPUMAP_OK) {
			report_add(report, FINDING_IGNORED_KEY, ABOUT(.origin = key->environment),
				   "'%s' is only for launch profiles", QUOTE(span_of(value)));
			return GPUMAP_OK;
		}
		return gpumap_request_set(request, key->name, value, key->environment, report);
	}
	key_variable_misspelt(name, report);
	return GPUMAP_OK;
}

EXPORT int gpumap_request_set_environ(gpumap_request *request, const char *const *envp,
				      gpumap_report *report)
{
	bool seen[VARIABLE_COUNT] = {false};
	int r = GPUMAP_OK;

	request->has_environ = true;
	for (; *envp && r == GPUMAP_OK; envp++) {
		struct statement statement = {.source = SOURCE_ENVIRONMENT};
		const char *equals = strchr(*envp, '=');
		struct span name = {*envp, equals ? (size_t)(equals - *envp) : 0};
		size_t v = 0;

		if (!equals)
			continue;
		while (v < VARIABLE_COUNT && !span_is(name, variable_name((enum variable)v)))
			v++;
		if (v < VARIABLE_COUNT && seen[v])
			continue; /* getenv(3) finds the first */
		if (v < VARIABLE_COUNT) {
			seen[v] = true;
			statement.variable = (enum variable)v;
			r = request_add(request, statement, equals + 1, "environment", report);
		} else if (span_starts(name, "GPUMAP_")) {
			r = environ_key(request, name, equals + 1, report);
		} else {
			variable_report_misspelt(name, report);
		}
	}
	return r;
}

static bool states_something(struct span name, const char *value)
{
	if (span_is(name, variable_name(VARIABLE_CUDA_VISIBLE)))
		return true; /* also if it is empty: no device */
	if (!*value)
		return false;
	if (span_is(name, variable_name(VARIABLE_CUDA_ORDER)) ||
	    span_is(name, "GPUMAP_INVENTORY") ||
	    rank_variable_meaning(name) == RANK_VARIABLE_RANK ||
	    rank_variable_meaning(name) == RANK_VARIABLE_LOCAL_RANK)
		return true;
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (span_is(name, key_get((enum key_id)i)->environment))
			return true;
	return misspelt_variable(name) != NULL;
}

bool environ_states(const char *const *envp)
{
	for (; *envp; envp++) {
		const char *equals = strchr(*envp, '=');

		if (equals &&
		    states_something((struct span){*envp, (size_t)(equals - *envp)}, equals + 1))
			return true;
	}
	return false;
}
