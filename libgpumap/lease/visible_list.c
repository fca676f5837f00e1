/* SPDX-License-Identifier: MIT */
/* The visible list of a lease: numbers of GPUs, or UUIDs if it has MIG instances. */
#include "lease/lease.h"
#include "lease/units.h"
#include "strbuf.h"

EXPORT const char *gpumap_lease_visible(const gpumap_lease *lease)
{
	return lease ? lease->visible : NULL;
}

/* An instance has no number, and a list has numbers or UUIDs. */
int lease_list(gpumap_lease *lease)
{
	struct strbuf text = {0};
	bool uuids = false;

	for (size_t i = 0; i < lease->count; i++)
		uuids = uuids || is_instance(unit_device(&lease->inventory->gpus[lease->gpus[i]]));
	for (size_t i = 0; i < lease->count; i++) {
		const gpumap_device *unit = unit_device(&lease->inventory->gpus[lease->gpus[i]]);

		strbuf_puts(&text, i ? "," : "");
		if (uuids && unit->uuid)
			strbuf_puts(&text, unit->uuid);
		else
			strbuf_printf(&text, "%d", unit->physical);
	}
	lease->visible = strbuf_take(&text);
	return lease->visible ? GPUMAP_OK : GPUMAP_ENOMEM;
}
