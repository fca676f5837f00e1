/* SPDX-License-Identifier: MIT */
/* An inventory as JSON, schema 1: members are always present, null when not known. */
#include "explain/explain.h"
#include "explain/json.h"

static json_t *mig_json(const gpumap_device *mig, bool usage, bool *failed)
{
	return JSON_OBJECT(failed, {"uuid", json_text(mig->uuid)},
			   {"profile", json_text(mig->profile)}, {"gi", json_number(mig->gi)},
			   {"ci", json_number(mig->ci)},
			   {"usage", usage ? usage_json(mig, failed) : json_null()});
}

static json_t *gpu_json(const gpumap_device *d, bool usage, bool *failed)
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
		json_push(migs, mig_json(&d->mig[i], usage, failed), failed);
	json_put(o, "mig", migs, failed);
	if (d->nvlink_count >= 0)
		links = json_array();
	for (int i = 0; i < d->nvlink_count; i++)
		json_push(links, json_integer(d->nvlink[i]), failed);
	json_put(o, "nvlink", links ? links : json_null(), failed);
	json_put(o, "usage", usage ? usage_json(d, failed) : json_null(), failed);
	json_put(o, "processes", usage ? processes_json(d, failed) : json_null(), failed);
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
	json_t *o, *gpus = json_array(), *order = json_object();
	bool failed = false;

	o = JSON_OBJECT(&failed, JSON_HEAD("inventory"));
	json_put(o, "source", json_text(inventory ? inventory->source : NULL), &failed);
	json_put(o, "origin", json_text(inventory ? inventory->origin : NULL), &failed);
	json_put(o, "host", json_text(inventory ? inventory->host : NULL), &failed);
	json_put(o, "date", json_text(inventory ? inventory->date : NULL), &failed);
	json_put(o, "driver", json_text(inventory ? inventory->driver : NULL), &failed);
	json_put(o, "no_gpu", json_text(inventory ? inventory->no_gpu : NULL), &failed);
	json_put(o, "partial", inventory ? json_boolean(inventory->partial) : json_null(), &failed);
	for (size_t i = 0; inventory && i < inventory->count; i++)
		json_push(gpus, gpu_json(&inventory->gpus[i], inventory->usage, &failed), &failed);
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
