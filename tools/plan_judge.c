/* SPDX-License-Identifier: MIT */
/* What cannot be started wherever it is planned, beside what gpumap_plan_make finds. */
#include "plan_open.h"

#include <stdlib.h>

#include "foreign.h"
#include "plan/job.h"
#include "report.h"

/* The most ranks that one node starts. */
static size_t most_ranks(const struct plan *core)
{
	size_t most = 0;

	for (size_t i = 0; i < core->host_count; i++)
		if (core->hosts[i].layout->count > most)
			most = core->hosts[i].layout->count;
	return most;
}

bool plan_nests(const char *const *arguments, size_t count, size_t ranks, gpumap_report *report)
{
	const char *launcher = foreign_launcher(arguments, count);

	if (!launcher || ranks < 2)
		return false;
	report_add(report, FINDING_NOT_HERE,
		   ABOUT(.fix = "put gpumap run in its place, or start it once: --ranks 1"),
		   "%s starts ranks itself, and would be started %zu times", launcher, ranks);
	return true;
}

bool plan_log_name(const gpumap_plan *plan, const char *file, gpumap_report *report)
{
	const struct speech speech = job_speech(plan);

	if (!strchr(file, '/') && !streq(file, ".") && !streq(file, ".."))
		return true;
	report_add(report, FINDING_LOG_OPEN,
		   ABOUT(.origin = job_origin(plan, "log_file"), .speech = &speech,
			 .fix = "write folders into " SETTING(
				 "log_dir") ", where macros hold as well"),
		   SETTING("log_file = '%s'") " is not the name of a file", QUOTE(span_of(file)));
	return false;
}

static bool has_logs(const gpumap_plan *plan, int64_t rank)
{
	static const char *const keys[] = {"log_dir", "redirects", "tee"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = gpumap_plan_setting(plan, keys[i], rank);

		if (value && *value)
			return true;
	}
	return false;
}

/* Whether every rank that has a log folder has a file's name; without exceptions ranks are alike.
 */
static bool names_logs(const gpumap_plan *plan, gpumap_report *report)
{
	size_t count = plan->exception_count ? plan->core->world_size : 1;
	bool good = true;

	for (size_t i = 0; i < count && good; i++)
		good = !has_logs(plan, (int64_t)i) ||
		       plan_log_name(plan, gpumap_plan_setting(plan, "log_file", (int64_t)i),
				     report);
	return good;
}

void plan_judge(gpumap_plan *plan, gpumap_report *report)
{
	if (!plan->core->answered)
		return;
	plan->core->answered = !plan_nests((const char *const *)plan->arguments,
					   plan->argument_count, most_ranks(plan->core), report) &&
			       names_logs(plan, report);
}

/* --- inside a rank ---------------------------------------------------------------------- */

static bool has_entry(const char *list, const struct plan_device *device)
{
	struct span rest = span_of(list), entry;

	while (span_split(&rest, ',', &entry))
		if (device->uuid && !is_digit(*entry.text)
			    ? span_is(entry, device->uuid)
			    : device->mig < 0 && device->physical >= 0 &&
				      span_number(entry, INT32_MAX) == device->physical)
			return true;
	return false;
}

void plan_judge_inside(gpumap_plan *plan, int64_t node, int64_t local_rank, gpumap_report *report)
{
	const char *own = getenv(RUN_GPUS), *rank = getenv(RUN_RANK), *run = getenv(RUN_ID);
	const struct plan_layout *layout = node < 0 ? NULL : plan->core->hosts[node].layout;
	const struct plan_slot *slot;

	for (size_t l = 0; own && layout && l < layout->count; l++) {
		slot = &layout->slots[l];
		if (local_rank >= 0 && l != (size_t)local_rank)
			continue;
		for (size_t i = 0; i < slot->device_count; i++) {
			if (has_entry(own, &slot->devices[i]))
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
			plan->core->answered = false;
			return;
		}
	}
}
