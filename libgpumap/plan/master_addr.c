/* SPDX-License-Identifier: MIT */
/* The master's address, where ranks meet: by default the first host. */
#include "plan/job.h"

/* Each node plans by itself, and knows the job only from its own environment. */
static const char *job_of(const gpumap_hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (hosts->hosts[i].job)
			return hosts->hosts[i].job;
	return NULL;
}

int job_master(gpumap_plan *plan, const gpumap_hosts *hosts, gpumap_report *report)
{
	const char *addr = plan->settings.master_addr.text, *job = job_of(hosts);

	if (plan->settings.master_addr.word == PLAN_MASTER_AUTO)
		addr = plan->host_count == 1 ? "127.0.0.1" : plan->hosts[0].name;
	plan->master_addr = arena_strdup(&plan->arena, addr);
	plan->run = arena_strdup(&plan->arena, job);
	if (plan->arena.failed)
		return report_nomem(report);
	return job_choose_port(plan, job, hosts->scheduled, report);
}
