/* SPDX-License-Identifier: MIT */
/* Asks libgpumap for mappings, and takes devices from them: see place_query.h. */
#include <stdio.h>
#include <string.h>

#include "backend/names.h"
#include "settings/print_findings.h"
#include "place/place_query.h"

/* --- mappings -------------------------------------------------------------------------------- */

bool place_state(struct place_query *f, const char *key, const char *value,
		 struct train_error *error)
{
	return findings_good(f->report,
			     gpumap_request_set(f->command->request, key, value, NULL, f->report),
			     error);
}

void place_drop(struct place_query *f)
{
	gpumap_mapping_free(f->mapping);
	gpumap_report_free(f->report);
	f->mapping = NULL;
	f->report = NULL;
}

bool place_resolve(struct place_query *f, struct train_error *error)
{
	place_drop(f);
	f->report = findings_new();
	return findings_good(
		f->report,
		gpumap_resolve(&f->mapping, f->command->request, f->inventory, f->report), error);
}

bool place_answered(const struct place_query *f, struct train_error *error)
{
	return gpumap_mapping_int(f->mapping, GPUMAP_MAPPING_ANSWERED) == 1 ||
	       findings_fail(f->report, GPUMAP_EINPUT, error);
}

/* Remarks on CUDA contexts, which simulated devices do not have. */
static const char *const of_contexts[] = {"GM012", "GM050", NULL};

/* The mappings of thread ranks have much the same findings. */
void place_keep(struct place_query *f)
{
	const char *assumption = gpumap_mapping_str(f->mapping, GPUMAP_MAPPING_ASSUMPTION);
	struct place *place = f->place;

	if (f->kept)
		return;
	f->kept = true;
	if (place->rank == 0 && !f->as_stages)
		findings_print(f->report,
			       backend_simulates(f->settings->backend) ? of_contexts : NULL);
	if (assumption)
		snprintf(place->assumption, sizeof(place->assumption), "%s", assumption);
}

/* --- devices --------------------------------------------------------------------------------- */

static const char *part_name(const struct settings *settings)
{
	return settings->mode == MODE_DP ? "replica" : settings->mode == MODE_MP ? "stage" : "rank";
}

static bool is_shared(const struct place_query *f, int i, const struct place_device *device,
		      int mig)
{
	const struct place_device *other = &f->place->devices[i];

	return other->physical == device->physical && f->mig[i] == mig &&
	       strcmp(other->uuid, device->uuid) == 0;
}

static bool not_known(const struct place_query *f, int logical, const char *uuid,
		      struct train_error *error)
{
	return train_fail(error, TRAIN_BAD_INPUT, "cuda:%d%s%.64s: its physical GPU is not known%s",
			  logical, uuid ? ", " : "", uuid ? uuid : "",
			  f->inventory ? "; set --prefix CUDA_DEVICE_ORDER=PCI_BUS_ID, or name it "
					 "by its UUID"
				       : " without the machine; give --inventory FILE with the "
					 "output of nvidia-smi -L there");
}

bool place_add(struct place_query *f, const gpumap_entry *entry, struct train_error *error)
{
	struct place *place = f->place;
	int mig = (int)gpumap_entry_int(entry, GPUMAP_ENTRY_MIG);
	const char *uuid = gpumap_entry_str(entry, GPUMAP_ENTRY_UUID);
	const char *name = gpumap_entry_str(entry, GPUMAP_ENTRY_NAME);
	struct place_device device = {
		.logical = (int)gpumap_entry_int(entry, GPUMAP_ENTRY_LOGICAL),
		.physical = (int)gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL),
	};

	if (device.physical < 0)
		return not_known(f, device.logical, uuid, error);
	if (place->count == PLACE_MAX_DEVICES)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"more than %d devices; choose some with --device-ids or --visible",
			PLACE_MAX_DEVICES);
	snprintf(device.uuid, sizeof(device.uuid), "%s", uuid ? uuid : "");
	snprintf(device.name, sizeof(device.name), "%s", name ? name : "");
	for (int i = 0; i < place->count && !f->settings->allow_share; i++)
		if (is_shared(f, i, &device, mig))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%ss %d and %d are both on physical GPU %d; give each a "
					  "device of its own, or write --allow-share",
					  part_name(f->settings), i, place->count, device.physical);
	f->mig[place->count] = mig;
	place->devices[place->count++] = device;
	return true;
}

/* The chosen one; rules may choose the CPU. */
bool place_add_chosen(struct place_query *f, struct train_error *error)
{
	const gpumap_entry *chosen = gpumap_mapping_chosen(f->mapping);

	if (chosen)
		return place_add(f, chosen, error);
	return train_fail(
		error, TRAIN_BAD_INPUT,
		"--device: no GPU is chosen, and the CPU is not one of the devices; leave "
		"it out: without a GPU, devices are simulated on the CPU");
}

bool place_add_replicas(struct place_query *f, size_t count, struct train_error *error)
{
	for (size_t i = 0; i < count; i++)
		if (!place_add(f, gpumap_mapping_replica(f->mapping, i), error))
			return false;
	return true;
}
