/* SPDX-License-Identifier: MIT */
/* What is said of a run that failed because the GPUs of its inventory are not here. */
#include "job/run_record.h"

#include "cli/machine.h"
#include "plan/job.h"

static bool uses_gpus(const struct plan_layout *layout)
{
	for (size_t l = 0; l < layout->count; l++)
		if (layout->ranks[l].device_count)
			return true;
	return false;
}

int run_explain_failure(const struct run *run, const struct launch_result *result,
			gpumap_report *report)
{
	const gpumap_plan *plan = run->plan;
	const struct speech speech = job_speech(plan);
	const char *machine =
		run->machine ? run->machine : gpumap_plan_setting(plan, "inventory", -1);
	OWNED(inventory) *host = NULL;
	OWNED(report) *scratch = NULL;
	const char *none;
	int code;

	if (!result->status || result->cause != LAUNCH_DONE ||
	    key_value(PKEY_PROFILE_inventory, machine).word == PLAN_INVENTORY_HOST ||
	    !uses_gpus(job_host(plan, run->node)->layout))
		return GPUMAP_OK;
	scratch = new_report();
	code = scratch ? machine_open(&host, "host", 0, scratch) : GPUMAP_ENOMEM;
	none = code == GPUMAP_OK ? gpumap_inventory_str(host, GPUMAP_INVENTORY_NO_GPU) : NULL;
	if (none)
		report_add(
			report, FINDING_NO_GPU,
			ABOUT(.rule = "E1", .speech = &speech,
			      .fix = "start it on a host with GPUs, without " SETTING("inventory")),
			"%s: the GPUs of " SETTING("inventory = %s") " are not here", none,
			QUOTE(span_of(machine)));
	return code == GPUMAP_ENOMEM ? code : GPUMAP_OK;
}
