/* SPDX-License-Identifier: MIT */
/* A plan as JSON, schema 1. plan/read.c reads it back. */
#include "explain/json.h"
#include "explain/plan.h"

#define PLAN_HEAD \
	{"kind", json_text("plan")}, \
	{ \
		"version", json_text(gpumap_version()) \
	}

static json_t *device_json(const struct plan_device *device)
{
	if (!device)
		return json_null();
	return JSON_OBJECT({"physical", json_number(device->physical)},
			   {"mig", json_number(device->mig)}, {"uuid", json_text(device->uuid)},
			   {"pci", json_text(device->pci)}, {"name", json_text(device->name)});
}

static json_t *rank_json(const struct plan_host *host, size_t l)
{
	const struct local_rank *local = &host->layout->ranks[l];
	json_t *gpus = JSON_LIST(i, local->device_count, device_json(&local->devices[i]));

	return JSON_OBJECT(
		{"rank", json_integer((json_int_t)(host->first_rank + l))},
		{"local_rank", json_integer((json_int_t)l)}, {"gpus", gpus},
		{"lands", device_json(local->lands)}, {"logical", json_number(local->logical)},
		{"visible", json_text(local->visible)}, {"cpus", json_text(local->cpus)},
		{"cpus_shared", json_boolean(local->cpus_shared)},
		{"memory_nodes", json_text(local->nodes)},
		{"threads", local->threads ? json_integer(local->threads) : json_null()});
}

/* The first host with this layout; NULL: it is this one, and `same` keeps it. */
static json_t *same_as(const gpumap_plan *plan, size_t node, json_t **same)
{
	const char *key = FORMAT("%p", (const void *)plan->hosts[node].layout);

	if (json_object_get(*same, key))
		return json_incref(json_object_get(*same, key));
	json_put(same, key, json_integer((json_int_t)node));
	return NULL;
}

/* A host that is like an earlier one only refers to it, which keeps a plan for thousands short. */
static json_t *host_json(const gpumap_plan *plan, size_t node, json_t **same)
{
	const struct plan_host *host = &plan->hosts[node];
	const struct plan_layout *layout = host->layout;
	json_t *earlier = same_as(plan, node, same);
	json_t *gpus = earlier ? json_null()
			       : JSON_LIST(i, layout->gpu_count, device_json(&layout->gpus[i]));
	json_t *ranks = earlier ? json_null() : JSON_LIST(l, layout->count, rank_json(host, l));

	return JSON_OBJECT({"name", json_text(host->name)},
			   {"node", json_integer((json_int_t)node)},
			   {"first_rank", json_integer((json_int_t)host->first_rank)},
			   {"local_size", json_integer((json_int_t)layout->count)},
			   {"same_as", earlier ? earlier : json_null()},
			   {"device_order", json_text(earlier ? NULL : layout->device_order)},
			   {"gpus", gpus}, {"ranks", ranks});
}

static json_t *hosts_json(const gpumap_plan *plan)
{
	json_t *same = json_object();
	json_t *array = JSON_LIST(i, plan->host_count, host_json(plan, i, &same));

	/* Without memory for it the array is not that of a plan. */
	if (!same)
		json_push(&array, NULL);
	json_decref(same);
	return array;
}

static json_t *settings_json(const gpumap_plan *plan)
{
	json_t *object = json_object();

	EACH_PLAN_KEY (k) {
		const struct plan_setting *s = SETTING_OF(&plan->settings, k);

		if (s->text)
			json_put(&object, profile_key(k)->key.name,
				 JSON_OBJECT({"value", json_text(s->text)},
					     {"origin", json_text(setting_origin(s))}));
	}
	return object;
}

static json_t *exception_json(const struct job_exception *e)
{
	return JSON_OBJECT({"rank", json_integer((json_int_t)e->rank)},
			   {"key", json_text(profile_key(e->key)->key.name)},
			   {"value", json_text(e->setting.text)},
			   {"origin", json_text(setting_origin(&e->setting))});
}

static json_t *variable_json(const struct job_variable *v)
{
	return JSON_OBJECT({"name", json_text(v->name)}, {"value", json_text(v->value)},
			   {"origin", json_text(v->origin)});
}

static json_t *step_json(const struct plan_step *s)
{
	return JSON_OBJECT({"rule", json_text(s->rule)}, {"text", json_text(s->text)},
			   {"origin", json_text(s->origin)});
}

static json_t *made_json(const gpumap_plan *plan, const gpumap_report *report)
{
	return JSON_DOCUMENT(
		"plan", PLAN_HEAD, {"answered", json_boolean(plan->answered)},
		{"profile", json_text(plan->profile)},
		{"mode", json_text(plan->settings.mode.text)},
		{"world_size", json_integer((json_int_t)plan->world_size)},
		{"master_addr", json_text(plan->master_addr)},
		{"master_port", plan->master_port ? json_integer(plan->master_port) : json_null()},
		{"run", json_text(plan->run)}, {"run_named", json_boolean(plan->run_named)},
		{"lease", json_text(plan->lease)}, {"hosts", hosts_json(plan)},
		{"arguments", JSON_LIST(i, plan->argument_count, json_text(plan->arguments[i]))},
		{"environment",
		 JSON_LIST(i, plan->variable_count, variable_json(&plan->variables[i]))},
		{"settings", settings_json(plan)},
		{"exceptions",
		 JSON_LIST(i, plan->exception_count, exception_json(&plan->exceptions[i]))},
		{"steps", JSON_LIST(i, plan->step_count, step_json(&plan->steps[i]))},
		{"findings", json_findings(report)});
}

/* The members of a plan that could not be made. */
static json_t *nothing_json(const gpumap_report *report)
{
	return JSON_DOCUMENT(
		"plan", PLAN_HEAD, {"answered", json_false()}, {"profile", json_null()},
		{"mode", json_null()}, {"world_size", json_null()}, {"master_addr", json_null()},
		{"master_port", json_null()}, {"run", json_null()}, {"run_named", json_null()},
		{"arguments", json_null()}, {"environment", json_null()}, {"settings", json_null()},
		{"exceptions", json_null()}, {"lease", json_null()}, {"hosts", json_array()},
		{"steps", json_array()}, {"findings", json_findings(report)});
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
	EACH_PLAN_KEY (k)
		keeps = keeps && is_utf8(SETTING_OF(&plan->settings, k)->text);
	for (size_t i = 0; i < plan->exception_count; i++)
		keeps = keeps && is_utf8(plan->exceptions[i].setting.text);
	return keeps;
}

json_t *plan_json(const gpumap_plan *plan, const gpumap_report *report)
{
	return plan ? made_json(plan, report) : nothing_json(report);
}
