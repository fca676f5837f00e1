/* SPDX-License-Identifier: MIT */
/* Reasons why a plan cannot be started on any machine, besides those of gpumap_plan_make. */
#include "job/plan_open.h"

#include "job/rank_logs.h"
#include "plan/hosts.h"
#include "plan/job.h"
#include "report/report.h"

/* The greatest number of ranks that one host starts. */
static size_t max_ranks(const gpumap_plan *plan)
{
	const struct plan_host *host;
	size_t max = 0;

	for (int64_t i = 0; (host = job_host(plan, i)); i++)
		if (host->layout->count > max)
			max = host->layout->count;
	return max;
}

void plan_judge(gpumap_plan *plan, gpumap_report *report)
{
	if (!plan->answered)
		return;
	if (plan_nests(plan->arguments, plan->argument_count, max_ranks(plan), report) ||
	    !rank_logs_check(plan, report))
		plan->answered = false;
}

int plan_make_quietly(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		      gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = gpumap_plan_make(ret, profile, hosts, report);

	if (r == GPUMAP_OK && job_all_have(*ret, PKEY_PROFILE_share, PLAN_SHARE_LIST))
		report_drop(report, before, FINDING_UNKNOWN_USE);
	return r;
}
