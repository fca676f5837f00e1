/* SPDX-License-Identifier: MIT */
/* An inventory as JSON, schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

static json_t *mig_json(const gpumap_device *mig, bool usage)
{
	return JSON_OBJECT({"uuid", json_text(mig->uuid)}, {"profile", json_text(mig->profile)},
			   {"gi", json_number(mig->gi)}, {"ci", json_number(mig->ci)},
			   {"usage", usage ? usage_json(mig) : json_null()});
}

static json_t *gpu_json(const gpumap_device *d, bool usage)
{
	return JSON_OBJECT({"index", json_number(d->index)}, {"physical", json_number(d->physical)},
			   {"uuid", json_text(d->uuid)}, {"pci", json_text(d->pci)},
			   {"name", json_text(d->name)}, {"memory_bytes", json_number(d->memory)},
			   {"numa", json_text(d->numa)}, {"cpus", json_text(d->cpus)},
			   {"minor", json_number(d->minor)},
			   {"mig_enabled", json_flag(d->mig_enabled)},
			   {"mig", JSON_LIST(i, d->mig_count, mig_json(&d->mig[i], usage))},
			   {"nvlink", d->nvlink_count < 0 ? json_null()
							  : JSON_LIST(i, (size_t)d->nvlink_count,
								      json_integer(d->nvlink[i]))},
			   {"usage", usage ? usage_json(d) : json_null()},
			   {"processes", usage ? processes_json(d) : json_null()});
}

/* CUDA's order as physical numbers; null where it is not known (rule N4). */
static json_t *order_json(const gpumap_inventory *inventory, enum gpumap_order order)
{
	json_t *array = json_array();

	for (size_t i = 0; i < inventory->count; i++) {
		int position = gpumap_inventory_cuda_position(inventory, order, i);

		if (position < 0) {
			json_decref(array);
			return json_null();
		}
		json_push(&array, json_integer(inventory->gpus[position].physical));
	}
	return array;
}

void inventory_json(struct strbuf *buf, const gpumap_inventory *inventory,
		    const gpumap_report *report)
{
	static const gpumap_inventory unknown;
	const gpumap_inventory *from = inventory ? inventory : &unknown;
	json_t *order = JSON_OBJECT(
		{"fastest", inventory ? order_json(inventory, GPUMAP_ORDER_FASTEST) : json_null()},
		{"pci", inventory ? order_json(inventory, GPUMAP_ORDER_PCI) : json_null()});
	json_t *gpus = JSON_LIST(i, from->count, gpu_json(&from->gpus[i], from->usage));
	json_t *o = JSON_DOCUMENT(
		"inventory", {"source", json_text(from->source)},
		{"origin", json_text(from->origin)}, {"host", json_text(from->host)},
		{"date", json_text(from->date)}, {"driver", json_text(from->driver)},
		{"no_gpu", json_text(from->no_gpu)},
		{"partial", inventory ? json_boolean(inventory->partial) : json_null()},
		{"gpus", gpus}, {"cuda_order", order}, {"findings", json_findings(report)});

	json_dump(buf, o);
}
