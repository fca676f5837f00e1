/* SPDX-License-Identifier: MIT */
/* A mapping as JSON, schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

/* At most this many candidates are listed; more are only counted. */
enum { MAX_CANDIDATES = 64 };

static json_t *candidates_json(const gpumap_entry *entry, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		if (entry->candidates[i]->physical >= 0)
			json_push(&array, json_integer(entry->candidates[i]->physical));
	return array;
}

static json_t *entry_json(const gpumap_entry *entry)
{
	size_t listed;
	json_t *o;

	if (!entry)
		return json_null();
	listed = entry->count < MAX_CANDIDATES ? entry->count : MAX_CANDIDATES;
	o = JSON_OBJECT({"logical", json_integer(entry->logical)},
			{"physical", json_number(gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL))},
			{"mig", json_number(gpumap_entry_int(entry, GPUMAP_ENTRY_MIG))},
			{"uuid", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_UUID))},
			{"pci", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_PCI))},
			{"name", json_text(gpumap_entry_str(entry, GPUMAP_ENTRY_NAME))},
			{"certainty", json_text(gpumap_certainty_name(entry->certainty))},
			{"candidates", candidates_json(entry, listed)});
	if (entry->count > listed)
		json_put(&o, "more_candidates", json_integer((json_int_t)(entry->count - listed)));
	return o;
}

static json_t *ended_json(const gpumap_mapping *mapping)
{
	if (!mapping->ended_text)
		return json_null();
	return JSON_OBJECT({"entry", json_integer(mapping->ended_entry)},
			   {"text", json_text(mapping->ended_text)},
			   {"reason", json_text(mapping->ended_reason)},
			   {"rule", json_text(mapping->ended_rule)});
}

static json_t *step_json(const gpumap_step *step)
{
	json_t *losers = JSON_LIST(i, step->loser_count,
				   JSON_OBJECT({"source", json_text(step->losers[i].source)},
					       {"value", json_text(step->losers[i].value)}));

	return JSON_OBJECT({"rule", json_text(step->rule)}, {"text", json_text(step->text)},
			   {"origin", json_text(step->origin)}, {"losers", losers});
}

void mapping_json(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	static const gpumap_mapping none;
	const gpumap_mapping *m = mapping ? mapping : &none;
	json_t *o = JSON_DOCUMENT(
		"mapping", {"answered", json_boolean(m->answered)},
		{"chosen", entry_json(m->chosen)},
		{"visible", JSON_LIST(i, m->visible_count, entry_json(&m->visible[i]))},
		{"ended", ended_json(m)}, {"mode", json_text(m->mode)},
		{"master", entry_json(m->master)},
		{"replicas", JSON_LIST(i, m->replica_count, entry_json(m->replicas[i]))},
		{"batch_split", m->batch_count
					? JSON_LIST(i, m->batch_count, json_integer(m->batch[i]))
					: json_null()},
		{"steps", JSON_LIST(i, m->step_count, step_json(&m->steps[i]))},
		{"assumption", json_text(m->assumption)}, {"findings", json_findings(report)});

	json_dump(buf, o);
}
