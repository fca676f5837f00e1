/* SPDX-License-Identifier: MIT */
/* Who holds the leases of GPUs. */
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/claim.h"

enum { GATE_MS = 100 };

EXPORT int gpumap_lease_holders(int64_t *ret, const gpumap_claim *claim,
				const gpumap_inventory *inventory, gpumap_report *report)
{
	struct lease_folder folder;
	int gate = -1, r = lease_folder_open(&folder, claim->folder, claim->sysfs, false, report);

	if (r != GPUMAP_OK)
		return r;
	/* To test a lock takes it for a moment, in which a job would find the GPU leased. */
	if (folder.fd >= 0)
		r = lease_gate(&gate, &folder, GATE_MS, NULL);
	for (size_t g = 0; g < inventory->count; g++) {
		enum lease_state state = LEASE_UNKNOWN;
		int64_t holder = 0;

		if (r == GPUMAP_OK)
			state = lease_held(&folder, &inventory->gpus[g], &holder);
		ret[g] = state == LEASE_HELD   ? holder
			 : state == LEASE_FREE ? GPUMAP_LEASE_NONE
					       : GPUMAP_LEASE_UNKNOWN;
	}
	if (gate >= 0)
		close(gate);
	lease_folder_close(&folder);
	return GPUMAP_OK;
}
