/* SPDX-License-Identifier: MIT */
/* A lease that was taken. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lease/units.h"
#include "report/report.h"
#include "strbuf.h"

void lease_forget_units(gpumap_lease *lease)
{
	units_free(lease->inventory);
	gpumap_inventory_free(lease->machine);
	lease->machine = lease->inventory = NULL;
}

int lease_probe(gpumap_lease *lease, gpumap_report *report)
{
	int r = gpumap_inventory_probe(&lease->machine, GPUMAP_PROBE_FLAG_USAGE, NULL, report);

	if (r != GPUMAP_OK)
		return r;
	lease->inventory = units_of(lease->machine);
	if (lease->inventory)
		return GPUMAP_OK;
	lease_forget_units(lease);
	return report_nomem(report);
}

EXPORT void gpumap_lease_free(gpumap_lease *lease)
{
	if (!lease)
		return;
	for (size_t i = 0; i < lease->count; i++)
		lease_unlock(&lease->locks[i]);
	lease_forget_units(lease);
	free(lease->gpus);
	free(lease->locks);
	free(lease->visible);
	free(lease->folder);
	free(lease);
}

EXPORT size_t gpumap_lease_count(const gpumap_lease *lease)
{
	return lease ? lease->count : 0;
}

EXPORT const gpumap_device *gpumap_lease_device(const gpumap_lease *lease, size_t i)
{
	return i < gpumap_lease_count(lease) ? unit_device(&lease->inventory->gpus[lease->gpus[i]])
					     : NULL;
}

const gpumap_inventory *lease_units(const gpumap_lease *lease)
{
	return lease->inventory;
}

size_t lease_unit(const gpumap_lease *lease, size_t i)
{
	return lease->gpus[i];
}

bool lease_has_slot(const gpumap_lease *lease, size_t i)
{
	return lease->locks[i].part && !is_instance(gpumap_lease_device(lease, i));
}

EXPORT int gpumap_lease_descriptor(const gpumap_lease *lease, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < gpumap_lease_count(lease); k++) {
		if (lease->locks[k].vendor >= 0 && n++ == i)
			return lease->locks[k].vendor;
		if (lease->locks[k].file >= 0 && n++ == i)
			return lease->locks[k].file;
		if (lease->locks[k].own >= 0 && n++ == i)
			return lease->locks[k].own;
	}
	return -1;
}

/* A lease of parts of GPUs, or of GPUs that sysfs does not have, stands on the folder alone. */
static void check_folder(const gpumap_lease *lease, const struct lease_folder *folder,
			 gpumap_report *report)
{
	bool alone = false;

	for (size_t i = 0; i < lease->count; i++)
		alone = alone || lease->locks[i].vendor < 0 || lease->locks[i].part;
	if (alone && folder->stranger >= 0 && !folder->inside)
		report_add(report, FINDING_LEASE_FOLDER,
			   ABOUT(.origin = folder->path, .fix = "let root own the folder"),
			   "the folder belongs to the user %lld, who can end this lease",
			   (long long)folder->stranger);
}

int lease_complete(gpumap_lease *lease, const struct lease_folder *folder, gpumap_report *report)
{
	lease->folder = realpath(folder->path, NULL);
	if ((!lease->folder && errno == ENOMEM) || lease_list(lease) != GPUMAP_OK)
		return report_nomem(report);
	memcpy(lease->prefix, folder->prefix, sizeof(lease->prefix));
	check_folder(lease, folder, report);
	return GPUMAP_OK;
}
