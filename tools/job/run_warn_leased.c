/* SPDX-License-Identifier: MIT */
/* See run_warn_leased.h. */
#include "job/run_warn_leased.h"

#include <stdlib.h>

#include "job/plan_open.h"
#include "lease/holders.h"
#include "lease/units.h"
#include "memory.h"
#include "pick/lease_here.h"
#include "plan/job.h"
#include "report/report.h"
#include "strbuf.h"

enum { MAX_NAMED = 8 };

/* Instances that no rank uses have no UUID, and only keep the numbers of others. */
static void add_instance(gpumap_device *gpu, const struct plan_device *device)
{
	while (gpu->mig_count <= (size_t)device->mig)
		device_add_mig(gpu);
	if (device->uuid)
		member_set(&gpu->mig[device->mig].uuid, span_of(device->uuid));
}

static void add_gpu(gpumap_inventory *gpus, const struct plan_layout *layout,
		    const struct plan_device *device)
{
	gpumap_device *gpu = inventory_add(gpus);

	gpu->index = device->physical;
	if (device->uuid)
		member_set(&gpu->uuid, span_of(device->uuid));
	if (device->pci)
		member_set(&gpu->pci, span_of(device->pci));
	for (size_t l = 0; l < layout->count; l++)
		for (size_t d = 0; d < layout->ranks[l].device_count; d++) {
			const struct plan_device *used = &layout->ranks[l].devices[d];

			if (used->physical == device->physical && used->mig >= 0)
				add_instance(gpu, used);
		}
}

/* The GPUs and instances of the ranks, with what names their locks. To ask the driver again would
 * take long. NULL: they are not an inventory. */
static gpumap_inventory *read_gpus(const struct plan_layout *layout)
{
	gpumap_inventory *gpus = inventory_new("plan", NULL);

	for (size_t g = 0; g < layout->gpu_count; g++)
		if (plan_uses_gpu(layout, layout->gpus[g].physical, -1))
			add_gpu(gpus, layout, &layout->gpus[g]);
	if (inventory_finish(gpus, NULL) == GPUMAP_OK)
		return gpus;
	gpumap_inventory_free(gpus);
	return NULL;
}

/* "GPU 0 is leased by process 4711 (jo)" */
static void name_holder(struct strbuf *text, const gpumap_device *unit, int64_t pid)
{
	CLEANUP_FREE char *who = process_text(pid);

	strbuf_printf(text, "%s%s is leased by %s", text->length ? ", " : "", UNIT_TEXT(unit), who);
}

/* A GPU with instances is used by these. */
static bool is_of_rank(const gpumap_device *unit)
{
	return is_instance(unit) ? unit->uuid != NULL : !unit->mig_count;
}

static void warn(const gpumap_plan *plan, const gpumap_inventory *units, const int64_t *holders,
		 gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	CLEANUP(strbuf_free) struct strbuf text = {0};
	size_t leased = 0, used = 0;
	bool instances = false;

	for (size_t g = 0; g < units->count; g++) {
		if (!is_of_rank(&units->gpus[g]))
			continue;
		used++;
		instances = instances || is_instance(&units->gpus[g]);
		if (holders[g] >= 0 && leased++ < MAX_NAMED)
			name_holder(&text, &units->gpus[g], holders[g]);
	}
	if (leased > MAX_NAMED)
		strbuf_puts(&text, ", ...");
	if (leased)
		report_add(report, FINDING_RUN_LEASED,
			   ABOUT(.origin = plan->settings.gpus.origin, .speech = &speech,
				 .fix = FORMAT(SETTING("gpus = free:%zu") "%s", used,
					       instances ? " with " SETTING(
								   "mig = yes") " takes instances "
										"that are free"
							 : " takes GPUs that are free")),
			   "%s", text.text);
}

void run_warn_leased(const gpumap_plan *plan, int64_t node, gpumap_report *report)
{
	const struct plan_host *host = job_host(plan, node);
	gpumap_inventory *gpus, *units;
	OWNED(claim) *claim = NULL;
	CLEANUP_FREE int64_t *holders = NULL;

	if (plan->lease ||
	    job_setting(plan, PKEY_PROFILE_inventory, (int64_t)host->first_rank)->word !=
		    PLAN_INVENTORY_HOST ||
	    !(gpus = read_gpus(host->layout)))
		return;
	units = units_of(gpus);
	holders = xcalloc(units->count, sizeof(*holders));
	if (gpumap_claim_new(&claim) == GPUMAP_OK && lease_here(claim, NULL) == GPUMAP_OK &&
	    lease_outside(holders, claim, gpus, report) == GPUMAP_OK)
		warn(plan, units, holders, report);
	units_free(units);
	gpumap_inventory_free(gpus);
}
