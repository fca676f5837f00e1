/* SPDX-License-Identifier: MIT */
/* A plan from the JSON that explain/plan_json.c writes. */
#include "plan/reader.h"

#include <errno.h>

#include "readfile.h"

enum { MOST_BYTES = 256 << 20 };

int reader_refuse(struct plan_reader *reader, const char *member, const char *what)
{
	/* What there was no memory to copy looks as if it were missing. */
	if (reader->r == GPUMAP_OK && reader->plan->arena.failed)
		reader->r = report_nomem(reader->report);
	if (reader->r == GPUMAP_OK)
		reader->r = report_fail(
			reader->report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
			ABOUT(.origin = reader->origin, .fix = "write it anew with gpumap plan -o"),
			"'%s' %s", member, what);
	return reader->r;
}

const json_t *reader_member(struct plan_reader *reader, const json_t *o, const char *key,
			    json_type type)
{
	const json_t *value = json_object_get(o, key);

	if (value && json_typeof(value) == type)
		return value;
	reader_refuse(reader, key, value ? "has the wrong type" : "is missing");
	return NULL;
}

const char *reader_text(struct plan_reader *reader, const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	if (value && json_is_null(value))
		return NULL;
	value = reader_member(reader, o, key, JSON_STRING);
	return value ? arena_strdup(&reader->plan->arena, json_string_value(value)) : NULL;
}

const char *reader_word(struct plan_reader *reader, const json_t *o, const char *key)
{
	const char *value = reader_text(reader, o, key);

	if (!value)
		reader_refuse(reader, key, "is missing");
	return value ? value : "";
}

int64_t reader_integer(struct plan_reader *reader, const json_t *o, const char *key, int64_t most,
		       int64_t nothing)
{
	const json_t *value = json_object_get(o, key);
	json_int_t n;

	if (value && json_is_null(value) && nothing != INT64_MIN)
		return nothing;
	value = reader_member(reader, o, key, JSON_INTEGER);
	n = value ? json_integer_value(value) : 0;
	if (n < 0 || n > most)
		reader_refuse(reader, key, "is out of range");
	return n < 0 || n > most ? 0 : n;
}

const json_t *reader_array(struct plan_reader *reader, const json_t *o, const char *key)
{
	return reader_member(reader, o, key, JSON_ARRAY);
}

void *reader_room(struct plan_reader *reader, size_t count, size_t size)
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

static void read_slot(struct plan_reader *reader, struct plan_slot *slot, const json_t *o)
{
	const json_t *gpus = reader_array(reader, o, "gpus"), *lands = json_object_get(o, "lands");
	struct plan_device *devices =
		reader_room(reader, json_array_size(gpus) + 1, sizeof(*devices));

	if (!devices)
		return;
	slot->device_count = json_array_size(gpus);
	for (size_t i = 0; i < slot->device_count; i++)
		read_device(reader, &devices[i], json_array_get(gpus, i));
	slot->devices = devices;
	if (lands && !json_is_null(lands)) {
		read_device(reader, &devices[slot->device_count], lands);
		slot->lands = &devices[slot->device_count];
	}
	slot->logical = (int)reader_integer(reader, o, "logical", INT32_MAX, -1);
	slot->visible = reader_word(reader, o, "visible");
	slot->cpus = reader_text(reader, o, "cpus");
	slot->nodes = reader_text(reader, o, "memory_nodes");
	slot->threads = (int)reader_integer(reader, o, "threads", INT32_MAX, 0);
	slot->cpus_shared = json_is_true(json_object_get(o, "cpus_shared"));
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
	layout->slots = reader_room(reader, layout->count, sizeof(*layout->slots));
	for (size_t l = 0; layout->slots && l < layout->count; l++)
		read_slot(reader, &layout->slots[l], json_array_get(ranks, l));
	return reader->r == GPUMAP_OK ? layout : NULL;
}

static void read_host(struct plan_reader *reader, size_t node, const json_t *o)
{
	struct plan *core = reader->plan->core;
	struct plan_host *host = &core->hosts[node];
	int64_t same = reader_integer(reader, o, "same_as", INT32_MAX, -1);

	host->name = reader_word(reader, o, "name");
	host->first_rank = core->world_size;
	if (same >= (int64_t)node)
		reader_refuse(reader, "same_as", "names no earlier host");
	if (reader->r != GPUMAP_OK)
		return;
	host->layout = same >= 0 ? reader->layouts[same] : read_layout(reader, o);
	if (!host->layout)
		return;
	reader->layouts[node] = host->layout;
	core->world_size += host->layout->count;
	if ((size_t)reader_integer(reader, o, "first_rank", PLAN_MAX_RANKS, INT64_MIN) !=
		    host->first_rank ||
	    (size_t)reader_integer(reader, o, "local_size", PLAN_MAX_RANKS, INT64_MIN) !=
		    host->layout->count ||
	    core->world_size > PLAN_MAX_RANKS)
		reader_refuse(reader, "first_rank", "does not fit the ranks before it");
}

static void read_hosts(struct plan_reader *reader, const json_t *o)
{
	const json_t *hosts = reader_array(reader, o, "hosts");
	struct plan *core = reader->plan->core;
	size_t count = json_array_size(hosts);

	core->hosts = reader_room(reader, count, sizeof(*core->hosts));
	reader->layouts = reader_room(reader, count, sizeof(struct plan_layout *));
	if (!core->hosts || !reader->layouts)
		return;
	core->host_count = count;
	for (size_t i = 0; i < count && reader->r == GPUMAP_OK; i++)
		read_host(reader, i, json_array_get(hosts, i));
	if (!count)
		reader_refuse(reader, "hosts", "has none");
	if (reader_integer(reader, o, "world_size", PLAN_MAX_RANKS, INT64_MIN) !=
	    (int64_t)core->world_size)
		reader_refuse(reader, "world_size", "does not fit the hosts");
}

static bool read_answered(struct plan_reader *reader, const json_t *o)
{
	const json_t *value = json_object_get(o, "answered");

	if (!json_is_boolean(value))
		reader_refuse(reader, "answered", value ? "has the wrong type" : "is missing");
	return json_is_true(value);
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
	plan->core->answered = read_answered(reader, o);
	plan->profile = reader_text(reader, o, "profile");
	plan->master_addr = reader_word(reader, o, "master_addr");
	plan->master_port = (int)reader_integer(reader, o, "master_port", 65535, 0);
	plan->run = reader_text(reader, o, "run");
	read_hosts(reader, o);
	if (json_is_integer(json_object_get(o, "master_port")) && !plan->master_port)
		reader_refuse(reader, "master_port", "is out of range");
	if (!plan->master_port && plan->core->host_count > 1)
		reader_refuse(reader, "master_port", "must be said for several hosts");
	read_job(reader, o);
	if (plan->arena.failed && reader->r == GPUMAP_OK)
		reader->r = report_nomem(reader->report);
	plan->restarts = job_restarts(job_setting(plan, "on_fail"));
}

int job_read(gpumap_plan **ret, const struct json_t *o, const char *origin, gpumap_report *report)
{
	struct plan_reader reader = {.plan = job_new(), .origin = origin, .report = report};

	if (!reader.plan)
		return report_nomem(report);
	reader.plan->core = calloc(1, sizeof(*reader.plan->core));
	if (!reader.plan->core)
		reader.r = report_nomem(report);
	else
		read_plan(&reader, o);
	if (reader.r != GPUMAP_OK) {
		gpumap_plan_free(reader.plan);
		return reader.r;
	}
	*ret = reader.plan;
	return GPUMAP_OK;
}

EXPORT int gpumap_plan_parse(gpumap_plan **ret, const char *bytes, size_t size, const char *origin,
			     gpumap_report *report)
{
	json_error_t error;
	json_t *o;
	int r;

	if (size > MOST_BYTES)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "a plan of more than %d bytes", MOST_BYTES);
	o = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (!o)
		return report_fail(report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.origin = origin, .line = error.line,
					 .column = error.column,
					 .fix = "write it anew with gpumap plan -o"),
				   "no plan, or cut short: %s", QUOTE(span_of(error.text)));
	r = job_read(ret, o, origin, report);
	json_decref(o);
	return r;
}

EXPORT int gpumap_plan_read(gpumap_plan **ret, const char *path, gpumap_report *report)
{
	const char *name = streq(path, "-") ? "standard input" : path;
	char *text = NULL;
	size_t size = 0;
	int error = read_file(path, true, MOST_BYTES, &text, &size), r;

	if (error == ENOMEM)
		return report_nomem(report);
	if (error)
		return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS, ABOUT(.origin = name),
				   "cannot read the plan: %s", strerror(error));
	r = gpumap_plan_parse(ret, text, size, name, report);
	free(text);
	return r;
}
