/* SPDX-License-Identifier: MIT */
/* JSON by schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

#include <jansson.h>

/* More candidates than this are counted, not listed. */
enum { MAX_CANDIDATES = 64 };

static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
	if (json_object_set_new(object, key, value) != 0)
		*failed = true;
}

static void push(json_t *array, json_t *value, bool *failed)
{
	if (json_array_append_new(array, value) != 0)
		*failed = true;
}

/* Text that is not UTF-8 (an environment may hold anything) is written escaped. */
static json_t *text(const char *s)
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

static json_t *number(int64_t n)
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
	put(o, "logical", json_integer(entry->logical), failed);
	put(o, "physical", number(gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL)), failed);
	put(o, "mig", number(gpumap_entry_int(entry, GPUMAP_ENTRY_MIG)), failed);
	put(o, "uuid", text(gpumap_entry_str(entry, GPUMAP_ENTRY_UUID)), failed);
	put(o, "pci", text(gpumap_entry_str(entry, GPUMAP_ENTRY_PCI)), failed);
	put(o, "name", text(gpumap_entry_str(entry, GPUMAP_ENTRY_NAME)), failed);
	put(o, "certainty", text(gpumap_certainty_name(entry->certainty)), failed);
	for (size_t i = 0; i < entry->count && i < MAX_CANDIDATES; i++)
		if (entry->candidates[i]->physical >= 0)
			push(candidates, json_integer(entry->candidates[i]->physical), failed);
	put(o, "candidates", candidates, failed);
	if (entry->count > MAX_CANDIDATES)
		put(o, "more_candidates", json_integer((json_int_t)(entry->count - MAX_CANDIDATES)),
		    failed);
	return o;
}

static json_t *entries_json(const gpumap_mapping *mapping, bool replicas, bool *failed)
{
	json_t *array = json_array();
	size_t count = replicas ? gpumap_mapping_replica_count(mapping)
				: gpumap_mapping_visible_count(mapping);

	for (size_t i = 0; i < count; i++)
		push(array,
		     entry_json(replicas ? mapping->replicas[i] : &mapping->visible[i], failed),
		     failed);
	return array;
}

static json_t *ended_json(const gpumap_mapping *mapping, bool *failed)
{
	json_t *o;

	if (!mapping || !mapping->ended_text)
		return json_null();
	o = json_object();
	put(o, "entry", json_integer(mapping->ended_entry), failed);
	put(o, "text", text(mapping->ended_text), failed);
	put(o, "reason", text(mapping->ended_reason), failed);
	put(o, "rule", text(mapping->ended_rule), failed);
	return o;
}

static json_t *step_json(const gpumap_step *step, bool *failed)
{
	json_t *o = json_object(), *losers = json_array();

	put(o, "rule", text(step->rule), failed);
	put(o, "text", text(step->text), failed);
	put(o, "origin", text(step->origin), failed);
	for (size_t i = 0; i < step->loser_count; i++) {
		json_t *l = json_object();

		put(l, "source", text(step->losers[i].source), failed);
		put(l, "value", text(step->losers[i].value), failed);
		push(losers, l, failed);
	}
	put(o, "losers", losers, failed);
	return o;
}

static json_t *findings_json(const gpumap_report *report, bool *failed)
{
	static const char *const severities[] = {"remark", "warning", "error"};
	json_t *array = json_array();

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		json_t *o = json_object();

		put(o, "id", text(gpumap_finding_str(f, GPUMAP_FINDING_ID)), failed);
		put(o, "severity", text(severities[gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY)]),
		    failed);
		put(o, "rule", text(gpumap_finding_str(f, GPUMAP_FINDING_RULE)), failed);
		put(o, "text", text(gpumap_finding_str(f, GPUMAP_FINDING_TEXT)), failed);
		put(o, "fix", text(gpumap_finding_str(f, GPUMAP_FINDING_FIX)), failed);
		put(o, "origin", text(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN)), failed);
		put(o, "line", number(gpumap_finding_int(f, GPUMAP_FINDING_LINE)), failed);
		put(o, "column", number(gpumap_finding_int(f, GPUMAP_FINDING_COLUMN)), failed);
		push(array, o, failed);
	}
	return array;
}

static json_t *batch_json(const gpumap_mapping *mapping, bool *failed)
{
	json_t *array;

	if (!mapping || !mapping->batch_count)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < mapping->batch_count; i++)
		push(array, json_integer(mapping->batch[i]), failed);
	return array;
}

static int append(const char *piece, size_t length, void *data)
{
	struct strbuf *buf = data;

	strbuf_add(buf, piece, length);
	return buf->failed ? -1 : 0;
}

/* Not json_dumps: with its own buffer it can lose a piece when memory runs out. */
static void dump(struct strbuf *buf, json_t *root, bool failed)
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

	put(o, "schema", json_integer(1), &failed);
	put(o, "answered", json_boolean(mapping && mapping->answered), &failed);
	put(o, "chosen", entry_json(mapping ? mapping->chosen : NULL, &failed), &failed);
	put(o, "visible", entries_json(mapping, false, &failed), &failed);
	put(o, "ended", ended_json(mapping, &failed), &failed);
	put(o, "mode", text(mapping ? mapping->mode : NULL), &failed);
	put(o, "master", entry_json(mapping ? mapping->master : NULL, &failed), &failed);
	put(o, "replicas", entries_json(mapping, true, &failed), &failed);
	put(o, "batch_split", batch_json(mapping, &failed), &failed);
	for (size_t i = 0; mapping && i < mapping->step_count; i++)
		push(steps, step_json(&mapping->steps[i], &failed), &failed);
	put(o, "steps", steps, &failed);
	put(o, "assumption", text(mapping ? mapping->assumption : NULL), &failed);
	put(o, "findings", findings_json(report, &failed), &failed);
	dump(buf, o, failed);
}

static json_t *mig_json(const gpumap_device *mig, bool *failed)
{
	json_t *o = json_object();

	put(o, "uuid", text(mig->uuid), failed);
	put(o, "profile", text(mig->profile), failed);
	put(o, "gi", number(mig->gi), failed);
	put(o, "ci", number(mig->ci), failed);
	return o;
}

static json_t *gpu_json(const gpumap_device *d, bool *failed)
{
	json_t *o = json_object(), *migs = json_array(), *links = NULL;

	put(o, "index", number(d->index), failed);
	put(o, "physical", number(d->physical), failed);
	put(o, "uuid", text(d->uuid), failed);
	put(o, "pci", text(d->pci), failed);
	put(o, "name", text(d->name), failed);
	put(o, "memory_bytes", number(d->memory), failed);
	put(o, "numa", text(d->numa), failed);
	put(o, "cpus", text(d->cpus), failed);
	put(o, "minor", number(d->minor), failed);
	put(o, "mig_enabled", d->mig_enabled < 0 ? json_null() : json_boolean(d->mig_enabled),
	    failed);
	for (size_t i = 0; i < d->mig_count; i++)
		push(migs, mig_json(&d->mig[i], failed), failed);
	put(o, "mig", migs, failed);
	if (d->nvlink_count >= 0)
		links = json_array();
	for (int i = 0; i < d->nvlink_count; i++)
		push(links, json_integer(d->nvlink[i]), failed);
	put(o, "nvlink", links ? links : json_null(), failed);
	return o;
}

/* CUDA's order as physical numbers; null where it is not known (rule N4). */
static json_t *order_json(const gpumap_inventory *inventory, enum gpumap_order order, bool *failed)
{
	json_t *array = json_array();

	for (size_t i = 0; i < inventory->count; i++) {
		int position = gpumap_inventory_cuda_order(inventory, order, i);

		if (position < 0) {
			json_decref(array);
			return json_null();
		}
		push(array, json_integer(inventory->gpus[position].physical), failed);
	}
	return array;
}

void inventory_json(struct strbuf *buf, const gpumap_inventory *inventory,
		    const gpumap_report *report)
{
	json_t *o = json_object(), *gpus = json_array(), *order = json_object();
	bool failed = false;

	put(o, "schema", json_integer(1), &failed);
	put(o, "source", text(inventory ? inventory->source : NULL), &failed);
	put(o, "origin", text(inventory ? inventory->origin : NULL), &failed);
	put(o, "host", text(inventory ? inventory->host : NULL), &failed);
	put(o, "date", text(inventory ? inventory->date : NULL), &failed);
	put(o, "driver", text(inventory ? inventory->driver : NULL), &failed);
	put(o, "partial", inventory ? json_boolean(inventory->partial) : json_null(), &failed);
	for (size_t i = 0; inventory && i < inventory->count; i++)
		push(gpus, gpu_json(&inventory->gpus[i], &failed), &failed);
	put(o, "gpus", gpus, &failed);
	put(order, "fastest",
	    inventory ? order_json(inventory, GPUMAP_ORDER_FASTEST, &failed) : json_null(),
	    &failed);
	put(order, "pci",
	    inventory ? order_json(inventory, GPUMAP_ORDER_PCI, &failed) : json_null(), &failed);
	put(o, "cuda_order", order, &failed);
	put(o, "findings", findings_json(report, &failed), &failed);
	dump(buf, o, failed);
}

json_t *json_text(const char *s)
{
	return text(s);
}

json_t *json_findings(const gpumap_report *report, bool *failed)
{
	return findings_json(report, failed);
}

void json_dump(struct strbuf *buf, json_t *value, bool failed)
{
	dump(buf, value, failed);
}
