/* SPDX-License-Identifier: MIT */
/* Reads a plan from the JSON that explain/plan_json.c writes. */
#include "plan/job.h"

#include <jansson.h>

#include "plan/hosts.h"
#include "readfile.h"
#include "request/profile_keys.h"
#include "text/expand.h"

enum { MAX_BYTES = 256 << 20 };

/* Reading continues after the first error, and only that one is reported. */
struct plan_reader {
	gpumap_plan *plan;
	const char *origin;
	gpumap_report *report;
	const struct plan_layout **layouts; /* by node */
	int r;
};

/* Notes that a member is wrong. */
static int reader_refuse(struct plan_reader *reader, const char *member, const char *what)
{
	/* If memory ran out, a text that could not be copied looks as if it were missing. */
	if (reader->r == GPUMAP_OK && reader->plan->arena.failed)
		reader->r = report_nomem(reader->report);
	if (reader->r == GPUMAP_OK)
		reader->r = report_fail(
			reader->report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
			ABOUT(.origin = reader->origin, .fix = "write it with gpumap plan -o FILE"),
			"'%s' %s", member, what);
	return reader->r;
}

/* The member of that type; NULL after an error. */
static const json_t *reader_member(struct plan_reader *reader, const json_t *o, const char *key,
				   json_type type)
{
	const json_t *value = json_object_get(o, key);

	if (value && json_typeof(value) == type)
		return value;
	reader_refuse(reader, key, value ? "has the wrong type" : "is missing");
	return NULL;
}

/* A text; NULL for null. */
static const char *reader_text(struct plan_reader *reader, const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	if (value && json_is_null(value))
		return NULL;
	value = reader_member(reader, o, key, JSON_STRING);
	return value ? arena_strdup(&reader->plan->arena, json_string_value(value)) : NULL;
}

/* A text that must be there: never NULL. */
static const char *reader_word(struct plan_reader *reader, const json_t *o, const char *key)
{
	const char *value = reader_text(reader, o, key);

	if (!value)
		reader_refuse(reader, key, "is missing");
	return value ? value : "";
}

/* A number from 0 to `max`; for null `nothing`, unless that is INT64_MIN. */
static int64_t reader_integer(struct plan_reader *reader, const json_t *o, const char *key,
			      int64_t max, int64_t nothing)
{
	const json_t *value = json_object_get(o, key);
	json_int_t n;

	if (value && json_is_null(value) && nothing != INT64_MIN)
		return nothing;
	value = reader_member(reader, o, key, JSON_INTEGER);
	n = value ? json_integer_value(value) : 0;
	if (n < 0 || n > max)
		reader_refuse(reader, key, "is out of range");
	return n < 0 || n > max ? 0 : n;
}

static const json_t *reader_array(struct plan_reader *reader, const json_t *o, const char *key)
{
	return reader_member(reader, o, key, JSON_ARRAY);
}

/* Room for `count` and one more elements in the plan; NULL after an error. */
static void *reader_room(struct plan_reader *reader, size_t count, size_t size)
{
	void *memory = arena_alloc(&reader->plan->arena, count + 1, size);

	if (!memory && reader->r == GPUMAP_OK)
		reader->r = report_nomem(reader->report);
	return memory;
}

/* --- ranks ------------------------------------------------------------------------ */

static void read_device(struct plan_reader *reader, struct plan_device *ret, const json_t *o)
{
	ret->physical = (int)reader_integer(reader, o, "physical", INT32_MAX, -1);
	ret->mig = (int)reader_integer(reader, o, "mig", INT32_MAX, -1);
	ret->uuid = reader_text(reader, o, "uuid");
	ret->pci = reader_text(reader, o, "pci");
	ret->name = reader_text(reader, o, "name");
}

static void read_rank(struct plan_reader *reader, struct local_rank *local, const json_t *o)
{
	const json_t *gpus = reader_array(reader, o, "gpus"), *lands = json_object_get(o, "lands");
	struct plan_device *devices =
		reader_room(reader, json_array_size(gpus) + 1, sizeof(*devices));

	if (!devices)
		return;
	local->device_count = json_array_size(gpus);
	for (size_t i = 0; i < local->device_count; i++)
		read_device(reader, &devices[i], json_array_get(gpus, i));
	local->devices = devices;
	if (lands && !json_is_null(lands)) {
		read_device(reader, &devices[local->device_count], lands);
		local->lands = &devices[local->device_count];
	}
	local->logical = (int)reader_integer(reader, o, "logical", INT32_MAX, -1);
	local->visible = reader_word(reader, o, "visible");
	local->cpus = reader_text(reader, o, "cpus");
	local->nodes = reader_text(reader, o, "memory_nodes");
	local->threads = (int)reader_integer(reader, o, "threads", INT32_MAX, 0);
	local->cpus_shared = json_is_true(json_object_get(o, "cpus_shared"));
}

static void read_machine(struct plan_reader *reader, struct plan_layout *layout, const json_t *host)
{
	const json_t *gpus = reader_array(reader, host, "gpus");
	struct plan_device *devices = reader_room(reader, json_array_size(gpus), sizeof(*devices));

	if (!devices)
		return;
	layout->gpus = devices;
	layout->gpu_count = json_array_size(gpus);
	for (size_t i = 0; i < layout->gpu_count; i++) {
		read_device(reader, &devices[i], json_array_get(gpus, i));
		if (i && devices[i].physical < devices[i - 1].physical)
			reader_refuse(reader, "gpus", "are out of order");
	}
}

static const struct plan_layout *read_layout(struct plan_reader *reader, const json_t *host)
{
	struct plan_layout *layout = reader_room(reader, 1, sizeof(*layout));
	const json_t *ranks = reader_array(reader, host, "ranks");

	if (!layout || !ranks)
		return NULL;
	layout->device_order = reader_text(reader, host, "device_order");
	read_machine(reader, layout, host);
	layout->count = json_array_size(ranks);
	layout->ranks = reader_room(reader, layout->count, sizeof(*layout->ranks));
	for (size_t l = 0; layout->ranks && l < layout->count; l++)
		read_rank(reader, &layout->ranks[l], json_array_get(ranks, l));
	return reader->r == GPUMAP_OK ? layout : NULL;
}

static void read_host(struct plan_reader *reader, size_t node, const json_t *o)
{
	gpumap_plan *plan = reader->plan;
	struct plan_host *host = &plan->hosts[node];
	int64_t same = reader_integer(reader, o, "same_as", INT32_MAX, -1);

	host->name = reader_word(reader, o, "name");
	host->first_rank = plan->world_size;
	if (same >= (int64_t)node)
		reader_refuse(reader, "same_as", "names no earlier host");
	if (reader->r != GPUMAP_OK)
		return;
	host->layout = same >= 0 ? reader->layouts[same] : read_layout(reader, o);
	if (!host->layout)
		return;
	reader->layouts[node] = host->layout;
	plan->world_size += host->layout->count;
	if ((size_t)reader_integer(reader, o, "first_rank", PLAN_MAX_RANKS, INT64_MIN) !=
		    host->first_rank ||
	    (size_t)reader_integer(reader, o, "local_size", PLAN_MAX_RANKS, INT64_MIN) !=
		    host->layout->count ||
	    plan->world_size > PLAN_MAX_RANKS)
		reader_refuse(reader, "first_rank", "does not fit the ranks before it");
}

static void read_hosts(struct plan_reader *reader, const json_t *o)
{
	const json_t *hosts = reader_array(reader, o, "hosts");
	gpumap_plan *plan = reader->plan;
	size_t count = json_array_size(hosts);

	plan->hosts = reader_room(reader, count, sizeof(*plan->hosts));
	reader->layouts = reader_room(reader, count, sizeof(struct plan_layout *));
	if (!plan->hosts || !reader->layouts)
		return;
	plan->host_count = count;
	for (size_t i = 0; i < count && reader->r == GPUMAP_OK; i++)
		read_host(reader, i, json_array_get(hosts, i));
	if (!count)
		reader_refuse(reader, "hosts", "has none");
	if (reader_integer(reader, o, "world_size", PLAN_MAX_RANKS, INT64_MIN) !=
	    (int64_t)plan->world_size)
		reader_refuse(reader, "world_size", "does not fit the hosts");
}

/* --- how ranks are started, and why so ------------------------------------------------------- */

/* Values with macros are checked when they are expanded. */
static void check_value(struct plan_reader *reader, const struct profile_key *key,
			const char *value)
{
	const struct about about = {.origin = reader->origin};

	if (!*value && *key->key.initial)
		reader_refuse(reader, key->key.name, "is empty");
	else if (reader->r == GPUMAP_OK && !value_has_macros(key->kind))
		reader->r = profile_value_check(key, span_of(value), &about, reader->report);
}

static struct plan_setting read_setting(struct plan_reader *reader, enum profile_key_id key,
					const json_t *o)
{
	const char *value = reader_word(reader, o, "value"),
		   *origin = reader_word(reader, o, "origin");

	check_value(reader, profile_key(key), value);
	return plan_setting(key, value, setting_giver(origin));
}

/* In an older plan, keys that it lacks have their defaults; a newer one may have others. */
static void read_settings(struct plan_reader *reader, const json_t *o)
{
	gpumap_plan *plan = reader->plan;
	const json_t *settings = json_object_get(o, "settings");

	plan->settings = plan_settings_default();
	if (!reader_member(reader, o, "settings", JSON_OBJECT))
		return;
	EACH_PLAN_KEY (k) {
		const json_t *setting = json_object_get(settings, profile_key(k)->key.name);

		if (setting)
			*SETTING_OF(&plan->settings, k) = read_setting(reader, k, setting);
	}
}

static void read_exceptions(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "exceptions");
	int64_t before = 0;

	for (size_t i = 0; i < json_array_size(all) && reader->r == GPUMAP_OK; i++) {
		const json_t *e = json_array_get(all, i);
		enum profile_key_id key = setting_key(span_of(reader_word(reader, e, "key")));
		int64_t rank = reader_integer(reader, e, "rank", PLAN_MAX_RANKS, INT64_MIN);
		struct job_exception exception = {.rank = (size_t)rank, .key = key};

		if (key == PKEY_COUNT || rank < before || (size_t)rank >= reader->plan->world_size)
			reader_refuse(reader, "exceptions", "are of no setting, or out of order");
		else
			exception.setting = read_setting(reader, key, e);
		before = rank;
		if (reader->r == GPUMAP_OK && job_add_exception(reader->plan, exception))
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
		plan->variables[plan->variable_count++] =
			(struct job_variable){name, value, reader_word(reader, v, "origin")};
	}
}

static void read_steps(struct plan_reader *reader, const json_t *o)
{
	const json_t *all = reader_array(reader, o, "steps");
	gpumap_plan *plan = reader->plan;

	plan->steps = reader_room(reader, json_array_size(all), sizeof(*plan->steps));
	for (size_t i = 0; plan->steps && i < json_array_size(all); i++) {
		const json_t *s = json_array_get(all, i);

		plan->steps[plan->step_count++] = (struct plan_step){
			reader_word(reader, s, "rule"), reader_word(reader, s, "text"),
			reader_text(reader, s, "origin")};
	}
}

static bool is_error(enum finding_id id)
{
	enum gpumap_severity severity = GPUMAP_SEVERITY_ERROR;
	const char *name;

	finding_meaning(id, &name, &severity);
	return severity == GPUMAP_SEVERITY_ERROR;
}

/* The errors of a plan that cannot be started are kept. */
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
		else if (reader->plan->answered && is_error(id))
			reader_refuse(reader, "answered", "does not fit the findings");
		else if (reader->r == GPUMAP_OK)
			report_add(reader->report, id, &about, "%s", what);
	}
}

static void read_job(struct plan_reader *reader, const json_t *o)
{
	read_settings(reader, o);
	if (!streq(reader_word(reader, o, "mode"), reader->plan->settings.mode.text))
		reader_refuse(reader, "mode", "does not fit the settings");
	read_exceptions(reader, o);
	read_arguments(reader, o);
	read_variables(reader, o);
	read_steps(reader, o);
	read_findings(reader, o);
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool read_answered(struct plan_reader *reader, const json_t *o)
{
	const json_t *value = json_object_get(o, "answered");

	if (!json_is_boolean(value))
		reader_refuse(reader, "answered", value ? "has the wrong type" : "is missing");
	return json_is_true(value);
}

/* Older plans do not record whether the run was named. */
static bool read_run_named(struct plan_reader *reader, const json_t *o)
{
	const json_t *value = json_object_get(o, "run_named");

	if (value && !json_is_null(value) && !json_is_boolean(value))
		reader_refuse(reader, "run_named", "has the wrong type");
	return json_is_true(value) && reader->plan->run;
}

/* Numbers of GPUs, or UUIDs of MIG instances. */
static bool is_lease(struct span list)
{
	struct gpu_entry entry;
	struct span item;

	while (span_split(&list, ',', &item))
		if (!gpu_entry_parse(&entry, item) ||
		    (entry.kind != GPU_NUMBER && entry.kind != GPU_UUID))
			return false;
	return true;
}

/* Older plans do not have it. */
static void read_lease(struct plan_reader *reader, const json_t *o)
{
	gpumap_plan *plan = reader->plan;

	if (!json_object_get(o, "lease"))
		return;
	plan->lease = reader_text(reader, o, "lease");
	if (plan->lease && !is_lease(span_of(plan->lease)))
		reader_refuse(reader, "lease", "has no numbers of GPUs, or UUIDs of instances");
	if (plan->lease && plan->host_count != 1)
		reader_refuse(reader, "lease", "must be null for several hosts");
}

static void read_plan(struct plan_reader *reader, const json_t *o)
{
	gpumap_plan *plan = reader->plan;

	if (reader_integer(reader, o, "schema", INT32_MAX, INT64_MIN) != 1)
		reader_refuse(reader, "schema", "is not 1: another version of gpumap wrote it");
	if (!streq(reader_word(reader, o, "kind"), "plan"))
		reader_refuse(reader, "kind", "is not a plan");
	if (reader->r != GPUMAP_OK)
		return;
	plan->answered = read_answered(reader, o);
	plan->profile = reader_text(reader, o, "profile");
	plan->master_addr = reader_word(reader, o, "master_addr");
	plan->master_port = (int)reader_integer(reader, o, "master_port", 65535, 0);
	plan->run = reader_text(reader, o, "run");
	if (plan->run && !is_run_name(plan->run))
		reader_refuse(reader, "run", "is not a name without /");
	plan->run_named = read_run_named(reader, o);
	read_hosts(reader, o);
	read_lease(reader, o);
	if (json_is_integer(json_object_get(o, "master_port")) && !plan->master_port)
		reader_refuse(reader, "master_port", "is out of range");
	if (!plan->master_port && plan->host_count > 1)
		reader_refuse(reader, "master_port", "must be set for several hosts");
	read_job(reader, o);
	if (plan->arena.failed && reader->r == GPUMAP_OK)
		reader->r = report_nomem(reader->report);
}

int job_read(gpumap_plan **ret, const struct json_t *o, const char *origin, gpumap_report *report)
{
	struct plan_reader reader = {.plan = job_new(), .origin = origin, .report = report};

	if (!reader.plan)
		return report_nomem(report);
	read_plan(&reader, o);
	return give_plan(ret, reader.plan, reader.r);
}

EXPORT int gpumap_plan_parse(gpumap_plan **ret, const char *bytes, size_t size, const char *origin,
			     gpumap_report *report)
{
	json_error_t error;
	json_auto_t *o = NULL;

	if (size > MAX_BYTES)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "a plan of more than %d bytes", MAX_BYTES);
	o = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	/* Without memory jansson often gives no reason. */
	if (!o && (!*error.text || json_error_code(&error) == json_error_out_of_memory))
		return report_nomem(report);
	if (!o)
		return report_fail(report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.origin = origin, .line = error.line,
					 .column = error.column,
					 .fix = "write it with gpumap plan -o FILE"),
				   "not a plan, or truncated (%s)", QUOTE(span_of(error.text)));
	return job_read(ret, o, origin, report);
}

EXPORT int gpumap_plan_read(gpumap_plan **ret, const char *path, gpumap_report *report)
{
	const char *name = streq(path, "-") ? "standard input" : path;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int error = read_file(path, true, MAX_BYTES, &text, &size);

	if (error)
		return report_read(report, error, name, "the plan", MAX_BYTES, NULL);
	return gpumap_plan_parse(ret, text, size, name, report);
}
