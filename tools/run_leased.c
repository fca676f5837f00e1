/* SPDX-License-Identifier: MIT */
#include "run_leased.h"

#include <stdio.h>
#include <stdlib.h>

#include "inventory/inventory.h"
#include "lease/holders.h"
#include "lease_here.h"
#include "plan/job.h"
#include "report.h"
#include "strbuf.h"

enum { MAX_NAMED = 8 };

static bool is_used(const struct plan_layout *layout, int gpu)
{
	for (size_t l = 0; l < layout->count; l++)
		for (size_t d = 0; d < layout->slots[l].device_count; d++)
			if (layout->slots[l].devices[d].physical == gpu)
				return true;
	return false;
}

static bool add_gpu(gpumap_inventory *gpus, const struct plan_device *device)
{
	gpumap_device *gpu = inventory_add(gpus);

	if (!gpu)
		return false;
	gpu->index = device->physical;
	return (!device->uuid || member_set(&gpu->uuid, span_of(device->uuid))) &&
	       (!device->pci || member_set(&gpu->pci, span_of(device->pci)));
}

/* The GPUs of the ranks, with what names their locks. To ask the driver again would take long. */
static int read_gpus(gpumap_inventory **ret, const struct plan_layout *layout)
{
	gpumap_inventory *gpus = inventory_new("plan", NULL);
	bool good = gpus;

	for (size_t g = 0; good && g < layout->gpu_count; g++)
		if (is_used(layout, layout->gpus[g].physical))
			good = add_gpu(gpus, &layout->gpus[g]);
	if (good && inventory_finish(gpus, NULL) == GPUMAP_OK) {
		*ret = gpus;
		return GPUMAP_OK;
	}
	gpumap_inventory_free(gpus);
	return good ? GPUMAP_EINPUT : GPUMAP_ENOMEM;
}

/* "GPU 0 is leased by process 4711 (jo)" */
static bool name_holder(struct strbuf *text, const gpumap_device *gpu, int64_t pid)
{
	gpumap_process process = process_of(pid), *list[] = {&process};
	bool good = processes_describe(list, 1);
	const char *user = good ? gpumap_process_str(&process, GPUMAP_PROCESS_USER) : NULL;

	strbuf_printf(text, "%sGPU %d is leased by ", text->length ? ", " : "", gpu->physical);
	if (pid > 0)
		strbuf_printf(text, "process %lld", (long long)pid);
	else
		strbuf_puts(text, "a process that is not visible here");
	if (user)
		strbuf_printf(text, " (%s)", user);
	process_clear(&process);
	return good;
}

static int warn(const gpumap_plan *plan, const gpumap_inventory *gpus, const int64_t *holders,
		gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	struct strbuf text = {0};
	size_t leased = 0;
	bool good = true;
	char fix[96];

	for (size_t g = 0; good && g < gpus->count; g++)
		if (holders[g] >= 0 && leased++ < MAX_NAMED)
			good = name_holder(&text, &gpus->gpus[g], holders[g]);
	if (leased > MAX_NAMED)
		strbuf_puts(&text, ", ...");
	snprintf(fix, sizeof(fix), SETTING("gpus = free:%zu") " takes GPUs that are free",
		 gpus->count);
	if (leased && good && !text.failed)
		report_add(report, FINDING_RUN_LEASED,
			   ABOUT(.origin = job_origin(plan, "gpus"), .speech = &speech, .fix = fix),
			   "%s", text.text);
	good = good && !text.failed;
	strbuf_free(&text);
	return good ? GPUMAP_OK : report_nomem(report);
}

int run_warn_leased(const gpumap_plan *plan, int64_t node, gpumap_report *report)
{
	gpumap_inventory *gpus = NULL;
	gpumap_claim *claim = NULL;
	int64_t *holders = NULL;
	int r;

	if (job_lease(plan) ||
	    job_value(plan, PKEY_PROFILE_inventory, (int64_t)job_host(plan, node)->first_rank)
			    .word != PLAN_INVENTORY_HOST)
		return GPUMAP_OK;
	r = read_gpus(&gpus, job_host(plan, node)->layout);
	if (r == GPUMAP_OK)
		r = gpumap_claim_new(&claim);
	if (r == GPUMAP_OK)
		r = lease_here(claim, NULL);
	if (r == GPUMAP_OK) {
		holders = calloc(gpus->count + 1, sizeof(*holders));
		r = holders ? lease_outside(holders, claim, gpus) : GPUMAP_ENOMEM;
	}
	if (r == GPUMAP_OK)
		r = warn(plan, gpus, holders, report);
	else if (r == GPUMAP_ENOMEM)
		report_nomem(report);
	free(holders);
	gpumap_claim_free(claim);
	gpumap_inventory_free(gpus);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}
