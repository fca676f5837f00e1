/* SPDX-License-Identifier: MIT */
#include "job/run_leased.h"

#include <stdio.h>
#include <stdlib.h>

#include "job/plan_open.h"
#include "lease/holders.h"
#include "lease/units.h"
#include "pick/lease_here.h"
#include "plan/job.h"
#include "report/report.h"
#include "strbuf.h"

enum { MAX_NAMED = 8 };

/* Instances that no rank uses have no UUID, and only keep the numbers of others. */
static bool add_instance(gpumap_device *gpu, const struct plan_device *device)
{
	while (gpu->mig_count <= (size_t)device->mig)
		if (!device_add_mig(gpu))
			return false;
	return !device->uuid || member_set(&gpu->mig[device->mig].uuid, span_of(device->uuid));
}

static bool add_gpu(gpumap_inventory *gpus, const struct plan_layout *layout,
		    const struct plan_device *device)
{
	gpumap_device *gpu = inventory_add(gpus);
	bool good = gpu;

	if (good)
		gpu->index = device->physical;
	good = good && (!device->uuid || member_set(&gpu->uuid, span_of(device->uuid))) &&
	       (!device->pci || member_set(&gpu->pci, span_of(device->pci)));
	for (size_t l = 0; good && l < layout->count; l++)
		for (size_t d = 0; good && d < layout->slots[l].device_count; d++) {
			const struct plan_device *used = &layout->slots[l].devices[d];

			if (used->physical == device->physical && used->mig >= 0)
				good = add_instance(gpu, used);
		}
	return good;
}

/* The GPUs and instances of the ranks, with what names their locks. To ask the driver again would
 * take long. */
static int read_gpus(gpumap_inventory **ret, const struct plan_layout *layout)
{
	gpumap_inventory *gpus = inventory_new("plan", NULL);
	bool good = gpus;

	for (size_t g = 0; good && g < layout->gpu_count; g++)
		if (plan_uses_gpu(layout, layout->gpus[g].physical, -1))
			good = add_gpu(gpus, layout, &layout->gpus[g]);
	if (good && inventory_finish(gpus, NULL) == GPUMAP_OK) {
		*ret = gpus;
		return GPUMAP_OK;
	}
	gpumap_inventory_free(gpus);
	return good ? GPUMAP_EINPUT : GPUMAP_ENOMEM;
}

/* "GPU 0 is leased by process 4711 (jo)" */
static bool name_holder(struct strbuf *text, const gpumap_device *unit, int64_t pid)
{
	CLEANUP_FREE char *who = process_text(pid);
	char name[UNIT_TEXT];

	strbuf_printf(text, "%s%s is leased by %s", text->length ? ", " : "", unit_text(name, unit),
		      who ? who : "");
	return who;
}

/* A GPU with instances is used by these. */
static bool is_of_rank(const gpumap_device *unit)
{
	return is_instance(unit) ? unit->uuid != NULL : !unit->mig_count;
}

static int warn(const gpumap_plan *plan, const gpumap_inventory *units, const int64_t *holders,
		gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	struct strbuf text = {0};
	size_t leased = 0, used = 0;
	bool good = true, instances = false;
	char fix[128];

	for (size_t g = 0; good && g < units->count; g++) {
		if (!is_of_rank(&units->gpus[g]))
			continue;
		used++;
		instances = instances || is_instance(&units->gpus[g]);
		if (holders[g] >= 0 && leased++ < MAX_NAMED)
			good = name_holder(&text, &units->gpus[g], holders[g]);
	}
	if (leased > MAX_NAMED)
		strbuf_puts(&text, ", ...");
	snprintf(fix, sizeof(fix),
		 instances ? SETTING("gpus = free:%zu") " with " SETTING(
				     "mig = yes") " takes instances that are free"
			   : SETTING("gpus = free:%zu") " takes GPUs that are free",
		 used);
	if (leased && good && !text.failed)
		report_add(
			report, FINDING_RUN_LEASED,
			ABOUT(.origin = plan->settings.gpus.origin, .speech = &speech, .fix = fix),
			"%s", text.text);
	good = good && !text.failed;
	strbuf_free(&text);
	return good ? GPUMAP_OK : report_nomem(report);
}

int run_warn_leased(const gpumap_plan *plan, int64_t node, gpumap_report *report)
{
	gpumap_inventory *gpus = NULL, *units = NULL;
	gpumap_claim *claim = NULL;
	int64_t *holders = NULL;
	int r;

	if (job_lease(plan) ||
	    job_setting(plan, PKEY_PROFILE_inventory, (int64_t)job_host(plan, node)->first_rank)
			    ->word != PLAN_INVENTORY_HOST)
		return GPUMAP_OK;
	r = read_gpus(&gpus, job_host(plan, node)->layout);
	if (r == GPUMAP_OK)
		r = gpumap_claim_new(&claim);
	if (r == GPUMAP_OK)
		r = lease_here(claim, NULL);
	if (r == GPUMAP_OK) {
		units = units_of(gpus);
		holders = units ? calloc(units->count + 1, sizeof(*holders)) : NULL;
		r = holders ? lease_outside(holders, claim, gpus, report) : GPUMAP_ENOMEM;
	}
	if (r == GPUMAP_OK)
		r = warn(plan, units, holders, report);
	else if (r == GPUMAP_ENOMEM)
		report_nomem(report);
	free(holders);
	gpumap_claim_free(claim);
	units_free(units);
	gpumap_inventory_free(gpus);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}
