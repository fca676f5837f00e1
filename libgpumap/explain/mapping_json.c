/* SPDX-License-Identifier: MIT */
/* A mapping as JSON, schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

/* At most this many candidates are listed; more are only counted. */
enum { MAX_CANDIDATES = 64 };

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

void mapping_json(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	json_t *o, *steps = json_array();
	bool failed = false;

	o = JSON_OBJECT(&failed, JSON_HEAD("mapping"));
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
