/* SPDX-License-Identifier: MIT */
/* What a plan's JSON tells of how its ranks are started, and why they are so. */
#include "plan/reader.h"

#include "expand.h"
#include "profile/keys.h"

static void read_settings(struct plan_reader *reader, const json_t *o)
{
	gpumap_plan *plan = reader->plan;
	json_t *settings = json_object_get(o, "settings"), *value;
	const char *key;

	if (!reader_member(reader, o, "settings", JSON_OBJECT))
		return;
	plan->settings = reader_room(reader, json_object_size(settings), sizeof(*plan->settings));
	if (!plan->settings)
		return;
	json_object_foreach(settings, key, value) plan->settings[plan->setting_count++] =
		(struct job_setting){
			arena_strdup(&plan->arena, key),
			reader_word(reader, value, "value"),
			reader_word(reader, value, "origin"),
		};
}

/* Those with macros are checked when they are expanded. */
static void check_value(struct plan_reader *reader, const struct profile_key *key,
			const char *value)
{
	const struct about about = {.origin = reader->origin};

	if (!value)
		reader_refuse(reader, key->key.name, "is missing: another version wrote it");
	else if (!*value && *key->key.initial)
		reader_refuse(reader, key->key.name, "is empty");
	else if (reader->r == GPUMAP_OK && !value_has_macros(key->kind))
		reader->r = profile_value_check(key, span_of(value), &about, reader->report);
}

/* What gpumap run looks up is there, and means something. */
static void check_settings(struct plan_reader *reader)
{
	for (int i = SETTING_FIRST; i < SETTING_END; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);

		if (i != PKEY_PROFILE_inherit)
			check_value(reader, key,
				    gpumap_plan_setting(reader->plan, key->key.name, -1));
	}
}

static size_t setting_named(const gpumap_plan *plan, const char *key)
{
	size_t i = 0;

	while (i < plan->setting_count && !streq(plan->settings[i].key, key))
		i++;
	return i;
}

static void read_exceptions(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "exceptions");
	int64_t before = 0;

	for (size_t i = 0; i < json_array_size(all) && reader->r == GPUMAP_OK; i++) {
		const json_t *e = json_array_get(all, i);
		const char *key = reader_word(reader, e, "key");
		size_t setting = setting_named(reader->plan, key);
		int64_t rank = reader_integer(reader, e, "rank", PLAN_MAX_RANKS, INT64_MIN);

		if (setting == reader->plan->setting_count || rank < before ||
		    (size_t)rank >= reader->plan->core->world_size)
			reader_refuse(reader, "exceptions", "are of no setting, or out of order");
		else if (setting_key(span_of(key)) != PKEY_COUNT)
			check_value(reader, profile_key(setting_key(span_of(key))),
				    json_string_value(json_object_get(e, "value")));
		before = rank;
		if (job_add_exception(reader->plan,
				      (struct job_exception){(size_t)rank, setting,
							     reader_word(reader, e, "value"),
							     reader_word(reader, e, "origin")}))
			reader->r = report_nomem(reader->report);
	}
}

static void read_arguments(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "arguments");
	gpumap_plan *plan = reader->plan;

	plan->arguments = reader_room(reader, json_array_size(all), sizeof(*plan->arguments));
	for (size_t i = 0; plan->arguments && i < json_array_size(all); i++) {
		const char *argument = json_string_value(json_array_get(all, i));

		if (!argument)
			reader_refuse(reader, "arguments", "are not texts");
		plan->arguments[plan->argument_count++] = arena_strdup(&plan->arena, argument);
	}
}

static void read_variables(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "environment");
	gpumap_plan *plan = reader->plan;

	plan->variables = reader_room(reader, json_array_size(all), sizeof(*plan->variables));
	for (size_t i = 0; plan->variables && i < json_array_size(all); i++) {
		const json_t *v = json_array_get(all, i);

		const char *name = reader_word(reader, v, "name");
		const char *value = reader_text(reader, v, "value");
		struct expand_error error;

		if (!*name || strchr(name, '='))
			reader_refuse(reader, "environment", "names no variable");
		if (value && !expand_check_macros(span_of(value), false, &error))
			reader_refuse(reader, "environment", error.text);
		plan->variables[plan->variable_count++] = (struct job_variable){
			name, value, reader_word(reader, v, "origin")};
	}
}

static void read_steps(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "steps");
	struct plan *core = reader->plan->core;

	core->steps = reader_room(reader, json_array_size(all), sizeof(*core->steps));
	for (size_t i = 0; core->steps && i < json_array_size(all); i++) {
		const json_t *s = json_array_get(all, i);

		core->steps[core->step_count++] = (struct plan_step){
			reader_word(reader, s, "rule"), reader_word(reader, s, "text"),
			reader_text(reader, s, "origin")};
	}
}

static bool is_error(enum finding_id id)
{
	enum gpumap_severity severity = GPUMAP_ERROR;
	const char *name;

	finding_meaning(id, &name, &severity);
	return severity == GPUMAP_ERROR;
}

/* Why it cannot be started is as good a reason as it was. */
static void read_findings(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "findings");

	for (size_t i = 0; i < json_array_size(all) && reader->r == GPUMAP_OK; i++) {
		const json_t *f = json_array_get(all, i);
		enum finding_id id = finding_by_id(reader_word(reader, f, "id"));
		struct about about = {reader_text(reader, f, "rule"),
				      reader_text(reader, f, "origin"),
				      reader_text(reader, f, "fix"),
				      (int)reader_integer(reader, f, "line", INT32_MAX, 0),
				      (int)reader_integer(reader, f, "column", INT32_MAX, 0),
				      NULL};
		const char *what = reader_word(reader, f, "text");

		if (id == FINDING_COUNT)
			reader_refuse(reader, "findings", "are of another version");
		else if (reader->plan->core->answered && is_error(id))
			reader_refuse(reader, "answered", "does not fit the findings");
		else if (reader->r == GPUMAP_OK)
			report_add(reader->report, id, &about, "%s", what);
	}
}

void read_job(struct plan_reader *reader, const json_t *o)
{
	read_settings(reader, o);
	check_settings(reader);
	if (!streq(reader_word(reader, o, "mode"), job_setting(reader->plan, "mode")))
		reader_refuse(reader, "mode", "does not fit the settings");
	read_exceptions(reader, o);
	read_arguments(reader, o);
	read_variables(reader, o);
	read_steps(reader, o);
	read_findings(reader, o);
}
