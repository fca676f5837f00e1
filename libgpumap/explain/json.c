/* SPDX-License-Identifier: MIT */
/* JSON by schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

/* At most this many candidates are listed; more are only counted. */
enum { MAX_CANDIDATES = 64 };

void json_put(json_t *object, const char *key, json_t *value, bool *failed)
{
	if (json_object_set_new(object, key, value) != 0)
		*failed = true;
}

void json_push(json_t *array, json_t *value, bool *failed)
{
	if (json_array_append_new(array, value) != 0)
		*failed = true;
}

json_t *json_make(bool *failed, const struct json_member *members)
{
	json_t *object = json_object();

	for (; members->key; members++)
		json_put(object, members->key, members->value, failed);
	return object;
}

json_t *json_text(const char *s)
{
	struct strbuf buf = {0};
	json_t *value;

	if (!s)
		return json_null();
	value = json_string(s);
	if (value)
		return value;
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_length(s, left);
		if (n)
			strbuf_add(&buf, s, n);
		else
			strbuf_printf(&buf, "\\x%02x", (unsigned char)*s);
		n = n ? n : 1;
	}
	value = buf.failed ? NULL : json_string(buf.text ? buf.text : "");
	strbuf_free(&buf);
	return value;
}

json_t *json_number(int64_t n)
{
	return n < 0 ? json_null() : json_integer(n);
}

static json_t *entry_json(const gpumap_entry *entry, bool *failed)
{
	json_t *o, *candidates;

	if (!entry)
		return json_null();
	o = json_object();
	candidates = json_array();
	json_put(o, "logical", json_integer(entry->logical), failed);
	json_put(o, "physical", json_number(gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL)),
		 failed);
	json_put(o, "mig", json_number(gpumap_entry_int(entry, GPUMAP_ENTRY_MIG)), failed);
	json_put(o, "uuid", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_UUID)), failed);
	json_put(o, "pci", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_PCI)), failed);
	json_put(o, "name", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_NAME)), failed);
	json_put(o, "certainty", json_text(gpumap_certainty_name(entry->certainty)), failed);
	for (size_t i = 0; i < entry->count && i < MAX_CANDIDATES; i++)
		if (entry->candidates[i]->physical >= 0)
			json_push(candidates, json_integer(entry->candidates[i]->physical), failed);
	json_put(o, "candidates", candidates, failed);
	if (entry->count > MAX_CANDIDATES)
		json_put(o, "more_candidates",
			 json_integer((json_int_t)(entry->count - MAX_CANDIDATES)), failed);
	return o;
}

static json_t *entries_json(const gpumap_mapping *mapping, bool replicas, bool *failed)
{
	json_t *array = json_array();
	size_t count = replicas ? gpumap_mapping_replica_count(mapping)
				: gpumap_mapping_visible_count(mapping);

	for (size_t i = 0; i < count; i++)
		json_push(
			array,
			entry_json(replicas ? mapping->replicas[i] : &mapping->visible[i], failed),
			failed);
	return array;
}

static json_t *ended_json(const gpumap_mapping *mapping, bool *failed)
{
	if (!mapping || !mapping->ended_text)
		return json_null();
	return JSON_OBJECT(failed, {"entry", json_integer(mapping->ended_entry)},
			   {"text", json_text(mapping->ended_text)},
			   {"reason", json_text(mapping->ended_reason)},
			   {"rule", json_text(mapping->ended_rule)});
}

static json_t *step_json(const gpumap_step *step, bool *failed)
{
	json_t *losers = json_array();

	for (size_t i = 0; i < step->loser_count; i++)
		json_push(losers,
			  JSON_OBJECT(failed, {"source", json_text(step->losers[i].source)},
				      {"value", json_text(step->losers[i].value)}),
			  failed);
	return JSON_OBJECT(failed, {"rule", json_text(step->rule)}, {"text", json_text(step->text)},
			   {"origin", json_text(step->origin)}, {"losers", losers});
}

static json_t *finding_json(const gpumap_finding *f, bool *failed)
{
	static const char *const severities[] = {"remark", "warning", "error"};

	return JSON_OBJECT(
		failed, {"id", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID))},
		{"severity", json_text(severities[gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY)])},
		{"rule", json_text(gpumap_finding_str(f, GPUMAP_FINDING_RULE))},
		{"text", json_text(gpumap_finding_str(f, GPUMAP_FINDING_TEXT))},
		{"fix", json_text(gpumap_finding_str(f, GPUMAP_FINDING_FIX))},
		{"origin", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN))},
		{"line", json_number(gpumap_finding_int(f, GPUMAP_FINDING_LINE))},
		{"column", json_number(gpumap_finding_int(f, GPUMAP_FINDING_COLUMN))});
}

json_t *json_findings(const gpumap_report *report, bool *failed)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gpumap_report_count(report); i++)
		json_push(array, finding_json(gpumap_report_get(report, i), failed), failed);
	return array;
}

static json_t *batch_json(const gpumap_mapping *mapping, bool *failed)
{
	json_t *array;

	if (!mapping || !mapping->batch_count)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < mapping->batch_count; i++)
		json_push(array, json_integer(mapping->batch[i]), failed);
	return array;
}

static int append(const char *piece, size_t length, void *data)
{
	struct strbuf *buf = data;

	strbuf_add(buf, piece, length);
	return buf->failed ? -1 : 0;
}

/* Not json_dumps: with its own buffer it can lose a piece when memory runs out. */
void json_dump(struct strbuf *buf, json_t *root, bool failed)
{
	if (failed || json_dump_callback(root, append, buf, JSON_COMPACT) != 0)
		buf->failed = true;
	strbuf_puts(buf, "\n");
	json_decref(root);
}

void explain_json(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	json_t *o = json_object(), *steps = json_array();
	bool failed = false;

	json_put(o, "schema", json_integer(1), &failed);
	json_put(o, "answered", json_boolean(mapping && mapping->answered), &failed);
	json_put(o, "chosen", entry_json(mapping ? mapping->chosen : NULL, &failed), &failed);
	json_put(o, "visible", entries_json(mapping, false, &failed), &failed);
	json_put(o, "ended", ended_json(mapping, &failed), &failed);
	json_put(o, "mode", json_text(mapping ? mapping->mode : NULL), &failed);
	json_put(o, "master", entry_json(mapping ? mapping->master : NULL, &failed), &failed);
	json_put(o, "replicas", entries_json(mapping, true, &failed), &failed);
	json_put(o, "batch_split", batch_json(mapping, &failed), &failed);
	for (size_t i = 0; mapping && i < mapping->step_count; i++)
		json_push(steps, step_json(&mapping->steps[i], &failed), &failed);
	json_put(o, "steps", steps, &failed);
	json_put(o, "assumption", json_text(mapping ? mapping->assumption : NULL), &failed);
	json_put(o, "findings", json_findings(report, &failed), &failed);
	json_dump(buf, o, failed);
}

static json_t *mig_json(const gpumap_device *mig, bool *failed)
{
	return JSON_OBJECT(failed, {"uuid", json_text(mig->uuid)},
			   {"profile", json_text(mig->profile)}, {"gi", json_number(mig->gi)},
			   {"ci", json_number(mig->ci)});
}

static json_t *gpu_json(const gpumap_device *d, bool *failed)
{
	json_t *o = json_object(), *migs = json_array(), *links = NULL;

	json_put(o, "index", json_number(d->index), failed);
	json_put(o, "physical", json_number(d->physical), failed);
	json_put(o, "uuid", json_text(d->uuid), failed);
	json_put(o, "pci", json_text(d->pci), failed);
	json_put(o, "name", json_text(d->name), failed);
	json_put(o, "memory_bytes", json_number(d->memory), failed);
	json_put(o, "numa", json_text(d->numa), failed);
	json_put(o, "cpus", json_text(d->cpus), failed);
	json_put(o, "minor", json_number(d->minor), failed);
	json_put(o, "mig_enabled", d->mig_enabled < 0 ? json_null() : json_boolean(d->mig_enabled),
		 failed);
	for (size_t i = 0; i < d->mig_count; i++)
		json_push(migs, mig_json(&d->mig[i], failed), failed);
	json_put(o, "mig", migs, failed);
	if (d->nvlink_count >= 0)
		links = json_array();
	for (int i = 0; i < d->nvlink_count; i++)
		json_push(links, json_integer(d->nvlink[i]), failed);
	json_put(o, "nvlink", links ? links : json_null(), failed);
	return o;
}

/* CUDA's order as physical numbers; null where it is not known (rule N4). */
static json_t *order_json(const gpumap_inventory *inventory, enum gpumap_order order, bool *failed)
{
	json_t *array = json_array();

	for (size_t i = 0; i < inventory->count; i++) {
		int position = gpumap_inventory_cuda_position(inventory, order, i);

		if (position < 0) {
			json_decref(array);
			return json_null();
		}
		json_push(array, json_integer(inventory->gpus[position].physical), failed);
	}
	return array;
}

void inventory_json(struct strbuf *buf, const gpumap_inventory *inventory,
		    const gpumap_report *report)
{
	json_t *o = json_object(), *gpus = json_array(), *order = json_object();
	bool failed = false;

	json_put(o, "schema", json_integer(1), &failed);
	json_put(o, "source", json_text(inventory ? inventory->source : NULL), &failed);
	json_put(o, "origin", json_text(inventory ? inventory->origin : NULL), &failed);
	json_put(o, "host", json_text(inventory ? inventory->host : NULL), &failed);
	json_put(o, "date", json_text(inventory ? inventory->date : NULL), &failed);
	json_put(o, "driver", json_text(inventory ? inventory->driver : NULL), &failed);
	json_put(o, "no_gpu", json_text(inventory ? inventory->no_gpu : NULL), &failed);
	json_put(o, "partial", inventory ? json_boolean(inventory->partial) : json_null(), &failed);
	for (size_t i = 0; inventory && i < inventory->count; i++)
		json_push(gpus, gpu_json(&inventory->gpus[i], &failed), &failed);
	json_put(o, "gpus", gpus, &failed);
	json_put(order, "fastest",
		 inventory ? order_json(inventory, GPUMAP_ORDER_FASTEST, &failed) : json_null(),
		 &failed);
	json_put(order, "pci",
		 inventory ? order_json(inventory, GPUMAP_ORDER_PCI, &failed) : json_null(),
		 &failed);
	json_put(o, "cuda_order", order, &failed);
	json_put(o, "findings", json_findings(report, &failed), &failed);
	json_dump(buf, o, failed);
}
