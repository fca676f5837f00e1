/* SPDX-License-Identifier: MIT */
/* gpumap leases as JSON, schema 1. */
#include "live/leases.h"

#include "explain/json.h"
#include "inventory/inventory.h"

static json_t *gpu_json(const gpumap_device *d)
{
	return JSON_OBJECT({"physical", json_number(d->physical)},
			   {"mig", json_number(d->mig_position)}, {"uuid", json_text(d->uuid)},
			   {"pci", json_text(d->gpu->pci)}, {"usage", usage_json(d)},
			   {"processes", processes_json(d)});
}

static json_t *row_json(const struct leases *leases, const struct lease_row *row)
{
	return JSON_OBJECT(
		{"gpus",
		 JSON_LIST(i, row->count, gpu_json(&leases->inventory->gpus[row->gpus[i]]))},
		{"slots", json_number(row->slots)},
		{"pid", row->pid > 0 ? json_number(row->pid) : json_null()},
		{"taker", lease_person_json(row->owner)},
		{"kind", json_text(lease_kind_word(row->kind))},
		{"holder", lease_person_json(row->kept_for)},
		{"kept_by", lease_kept_json(&row->kept)}, {"left_ms", json_number(row->left_ms)},
		{"idle_limit_ms", json_number(row->idle_ms)}, {"idle", json_boolean(row->idle)});
}

void leases_json(struct strbuf *buf, const struct leases *leases, bool idle,
		 const gpumap_report *report)
{
	const gpumap_inventory *inventory = leases->inventory;
	json_t *rows = json_array();

	for (size_t i = 0; i < leases->count; i++)
		if (!idle || leases->rows[i].idle)
			json_push(&rows, row_json(leases, &leases->rows[i]));
	json_dump(buf, JSON_DOCUMENT("leases", {"host", json_text(inventory->host)},
				     {"date", json_text(inventory->date)}, {"leases", rows},
				     {"leases_known", json_boolean(leases->known)},
				     {"findings", json_findings(report)}));
}
