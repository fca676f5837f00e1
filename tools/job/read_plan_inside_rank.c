/* SPDX-License-Identifier: MIT */
/* Whether a plan that was read takes GPUs of other ranks, inside a rank of gpumap run. Those that
 * are made there are limited by plan/inside_rank.c. */
#include "job/plan_open.h"

#include <stdlib.h>

#include "plan/hosts.h"
#include "plan/job.h"

static bool has_device(const char *list, const struct plan_device *device)
{
	struct span rest = span_of(list), entry;

	while (span_split(&rest, ',', &entry))
		if (run_entry_is(entry, device->uuid, device->physical, device->mig >= 0))
			return true;
	return false;
}

/* Whether any rank of the node uses a GPU, or whether rank `rank` does. */
static bool has_devices(const struct plan_layout *layout, int64_t local_rank)
{
	for (size_t l = 0; layout && l < layout->count; l++)
		if ((local_rank < 0 || l == (size_t)local_rank) && layout->ranks[l].device_count)
			return true;
	return false;
}

/* Whether the list is one that gpumap wrote; false after a finding. */
static bool is_own_list(const char *list, gpumap_report *report)
{
	struct span rest = span_of(list), entry;

	while (*list && span_split(&rest, ',', &entry)) {
		if (run_entry_is_device(entry))
			continue;
		report_add(report, FINDING_BAD_VALUE,
			   ABOUT(.rule = "S6a", .origin = RUN_GPUS,
				 .fix = "gpumap run sets it in its ranks: unset it if this is not "
					"one of them"),
			   "'%s' is not a GPU", QUOTE(entry));
		return false;
	}
	return true;
}

void plan_judge_inside(gpumap_plan *plan, int64_t node, int64_t local_rank, gpumap_report *report)
{
	const char *own = getenv(RUN_GPUS), *rank = getenv(RUN_RANK), *run = getenv(RUN_ID);
	const struct plan_host *host = job_host(plan, node);
	const struct plan_layout *layout = host ? host->layout : NULL;
	const struct local_rank *local;

	if (!own || !has_devices(layout, local_rank))
		return;
	if (!is_own_list(own, report)) {
		plan->answered = false;
		return;
	}
	for (size_t l = 0; l < layout->count; l++) {
		local = &layout->ranks[l];
		if (local_rank >= 0 && l != (size_t)local_rank)
			continue;
		for (size_t i = 0; i < local->device_count; i++) {
			if (has_device(own, &local->devices[i]))
				continue;
			report_add(
				report, FINDING_OTHER_RANKS,
				ABOUT(.rule = "S6a",
				      .fix = "start it once, outside of the ranks, or make a plan "
					     "here"),
				"the plan has GPUs that would be taken from another rank: this is "
				"rank %s of gpumap run%s%s, which has %s",
				rank ? rank : "?", run ? " " : "", run ? run : "",
				*own ? own : "none");
			plan->answered = false;
			return;
		}
	}
}
