/* SPDX-License-Identifier: MIT */
/* A plan as JSON, schema 1: what plan/read.c reads back. */
#include "explain/json.h"
#include "explain/plan.h"

struct writer {
	const gpumap_plan *plan;
	bool failed;
};

static void put(struct writer *w, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		w->failed = true;
}

static void push(struct writer *w, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		w->failed = true;
}

static json_t *number(int64_t n)
{
	return n < 0 ? json_null() : json_integer(n);
}

static json_t *device_json(struct writer *w, const struct plan_device *device)
{
	json_t *o;

	if (!device)
		return json_null();
	o = json_object();
	put(w, o, "physical", number(device->physical));
	put(w, o, "mig", number(device->mig));
	put(w, o, "uuid", json_text(device->uuid));
	put(w, o, "pci", json_text(device->pci));
	put(w, o, "name", json_text(device->name));
	return o;
}

static json_t *slot_json(struct writer *w, const struct plan_host *host, size_t l)
{
	const struct plan_slot *slot = &host->layout->slots[l];
	json_t *o = json_object(), *gpus = json_array();

	put(w, o, "rank", json_integer((json_int_t)(host->first_rank + l)));
	put(w, o, "local_rank", json_integer((json_int_t)l));
	for (size_t i = 0; i < slot->device_count; i++)
		push(w, gpus, device_json(w, &slot->devices[i]));
	put(w, o, "gpus", gpus);
	put(w, o, "lands", device_json(w, slot->lands));
	put(w, o, "logical", number(slot->logical));
	put(w, o, "visible", json_text(slot->visible));
	put(w, o, "cpus", json_text(slot->cpus));
	put(w, o, "cpus_shared", json_boolean(slot->cpus_shared));
	put(w, o, "memory_nodes", json_text(slot->nodes));
	put(w, o, "threads", slot->threads ? json_integer(slot->threads) : json_null());
	return o;
}

/* A host like an earlier one says so, which keeps a plan for thousands short. */
static json_t *host_json(struct writer *w, size_t node, json_t *same)
{
	const struct plan_host *host = &w->plan->core->hosts[node];
	json_t *o = json_object(), *ranks = json_array(), *gpus = json_array();
	char key[24];

	put(w, o, "name", json_text(host->name));
	put(w, o, "node", json_integer((json_int_t)node));
	put(w, o, "first_rank", json_integer((json_int_t)host->first_rank));
	put(w, o, "local_size", json_integer((json_int_t)host->layout->count));
	snprintf(key, sizeof(key), "%p", (const void *)host->layout);
	if (json_object_get(same, key)) {
		put(w, o, "same_as", json_incref(json_object_get(same, key)));
		put(w, o, "device_order", json_null());
		put(w, o, "gpus", json_null());
		json_decref(ranks);
		json_decref(gpus);
		put(w, o, "ranks", json_null());
		return o;
	}
	put(w, same, key, json_integer((json_int_t)node));
	put(w, o, "same_as", json_null());
	put(w, o, "device_order", json_text(host->layout->device_order));
	for (size_t i = 0; i < host->layout->gpu_count; i++)
		push(w, gpus, device_json(w, &host->layout->gpus[i]));
	put(w, o, "gpus", gpus);
	for (size_t l = 0; l < host->layout->count; l++)
		push(w, ranks, slot_json(w, host, l));
	put(w, o, "ranks", ranks);
	return o;
}

static json_t *hosts_json(struct writer *w)
{
	json_t *array = json_array(), *same = json_object();

	for (size_t i = 0; i < w->plan->core->host_count; i++)
		push(w, array, host_json(w, i, same));
	json_decref(same);
	return array;
}

static json_t *settings_json(struct writer *w)
{
	json_t *object = json_object();

	for (size_t i = 0; i < w->plan->setting_count; i++) {
		const struct job_setting *s = &w->plan->settings[i];
		json_t *o = json_object();

		put(w, o, "value", json_text(s->value));
		put(w, o, "origin", json_text(s->origin));
		put(w, object, s->key, o);
	}
	return object;
}

static json_t *exceptions_json(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->plan->exception_count; i++) {
		const struct job_exception *e = &w->plan->exceptions[i];
		json_t *o = json_object();

		put(w, o, "rank", json_integer((json_int_t)e->rank));
		put(w, o, "key", json_text(w->plan->settings[e->setting].key));
		put(w, o, "value", json_text(e->value));
		put(w, o, "origin", json_text(e->origin));
		push(w, array, o);
	}
	return array;
}

static json_t *variables_json(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->plan->variable_count; i++) {
		const struct job_variable *v = &w->plan->variables[i];
		json_t *o = json_object();

		put(w, o, "name", json_text(v->name));
		put(w, o, "value", json_text(v->value));
		put(w, o, "origin", json_text(v->origin));
		push(w, array, o);
	}
	return array;
}

static json_t *steps_json(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->plan->core->step_count; i++) {
		const struct plan_step *s = &w->plan->core->steps[i];
		json_t *o = json_object();

		put(w, o, "rule", json_text(s->rule));
		put(w, o, "text", json_text(s->text));
		put(w, o, "origin", json_text(s->origin));
		push(w, array, o);
	}
	return array;
}

static json_t *arguments_json(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->plan->argument_count; i++)
		push(w, array, json_text(w->plan->arguments[i]));
	return array;
}

static void put_plan(struct writer *w, json_t *o)
{
	const gpumap_plan *plan = w->plan;

	put(w, o, "answered", json_boolean(plan->core->answered));
	put(w, o, "profile", json_text(plan->profile));
	put(w, o, "mode", json_text(job_setting(plan, "mode")));
	put(w, o, "world_size", json_integer((json_int_t)plan->core->world_size));
	put(w, o, "master_addr", json_text(plan->master_addr));
	put(w, o, "master_port", plan->master_port ? json_integer(plan->master_port) : json_null());
	put(w, o, "run", json_text(plan->run));
	put(w, o, "hosts", hosts_json(w));
	put(w, o, "arguments", arguments_json(w));
	put(w, o, "environment", variables_json(w));
	put(w, o, "settings", settings_json(w));
	put(w, o, "exceptions", exceptions_json(w));
	put(w, o, "steps", steps_json(w));
}

/* What there is of a plan that could not be made. */
static void put_nothing(struct writer *w, json_t *o)
{
	static const char *const empty[] = {"profile",     "mode",      "world_size", "master_addr",
					    "master_port", "run",       "arguments",  "environment",
					    "settings",    "exceptions"};

	put(w, o, "answered", json_false());
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
		put(w, o, empty[i], json_null());
	put(w, o, "hosts", json_array());
	put(w, o, "steps", json_array());
}

static bool is_utf8(const char *text)
{
	size_t left = text ? strlen(text) : 0, n;

	for (; left; text += n, left -= n) {
		n = utf8_length(text, left);
		if (!n)
			return false;
	}
	return true;
}

bool plan_json_keeps(const gpumap_plan *plan)
{
	bool keeps = true;

	for (size_t i = 0; i < plan->argument_count; i++)
		keeps = keeps && is_utf8(plan->arguments[i]);
	for (size_t i = 0; i < plan->variable_count; i++)
		keeps = keeps && is_utf8(plan->variables[i].name) &&
			is_utf8(plan->variables[i].value);
	for (size_t i = 0; i < plan->setting_count; i++)
		keeps = keeps && is_utf8(plan->settings[i].value);
	for (size_t i = 0; i < plan->exception_count; i++)
		keeps = keeps && is_utf8(plan->exceptions[i].value);
	return keeps;
}

json_t *plan_json(const gpumap_plan *plan, const gpumap_report *report, bool *failed)
{
	struct writer w = {.plan = plan};
	json_t *o = json_object();

	put(&w, o, "schema", json_integer(1));
	put(&w, o, "kind", json_text("plan"));
	put(&w, o, "version", json_text(gpumap_version()));
	if (plan)
		put_plan(&w, o);
	else
		put_nothing(&w, o);
	put(&w, o, "findings", json_findings(report, &w.failed));
	*failed = *failed || w.failed;
	return o;
}
