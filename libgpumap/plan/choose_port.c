/* SPDX-License-Identifier: MIT */
/* The master's address and port, where ranks meet. */
#include "plan/job.h"

int job_port(const char *job, const char *part)
{
	uint64_t n = 0;

	/* Most ids are numbers, and consecutive ones get different ports. Other ids are hashed. */
	for (; *job && *job != '.'; job++)
		n = n * (is_digit(*job) ? 10 : 31) + (unsigned char)*job - '0';
	for (; *part; part++)
		n = n * 31 + (unsigned char)*part;
	return JOB_FIRST_PORT + (int)(n % JOB_PORTS);
}

int job_refuse_port(const gpumap_plan *plan, const char *why, gpumap_report *report)
{
	const struct speech speech = job_speech(plan);

	return report_fail(report, GPUMAP_EINPUT, FINDING_MASTER,
			   ABOUT(.origin = plan->settings.master_port.origin, .speech = &speech,
				 .fix = "write " SETTING("master_port = auto") ", or a number"),
			   SETTING("master_port = job") ", but %s", why);
}

int job_common_port(const gpumap_plan *plan, const char *ranks, const char *host,
		    gpumap_report *report)
{
	const struct speech speech = job_speech(plan);

	report_add(report, FINDING_COMMON_PORT,
		   ABOUT(.speech = &speech,
			 .fix = FORMAT("if another run uses %.100s too, give each its "
				       "own: " SETTING("master_port = N"),
				       QUOTE(span_of(host)))),
		   "%s use port %d", ranks, COMMON_PORT);
	return COMMON_PORT;
}

/* `later`: the port follows from the id of the job that will start the ranks. */
static int choose_port(gpumap_plan *plan, const char *job, bool later, gpumap_report *report)
{
	const struct plan_setting *port = &plan->settings.master_port;
	bool automatic = port->word == PLAN_PORT_AUTO;

	if (port->word == PLAN_PORT_PORT) {
		plan->master_port = (int)port->number;
		return GPUMAP_OK;
	}
	if (later || (automatic && plan->host_count == 1))
		return GPUMAP_OK;
	if (job) {
		plan->master_port = job_port(job, "");
		return GPUMAP_OK;
	}
	if (!automatic)
		return job_refuse_port(plan, "no scheduler's job is running this", report);
	plan->master_port = job_common_port(plan, "the hosts", plan->hosts[0].name, report);
	return GPUMAP_OK;
}

/* Each node plans by itself, and knows the job only from its own environment. */
static const char *job_of(const gpumap_hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (hosts->hosts[i].job)
			return hosts->hosts[i].job;
	return NULL;
}

int job_meet(gpumap_plan *plan, const char *run, const char *address, int port)
{
	plan->met = true;
	if (run)
		plan->run = arena_strdup(&plan->arena, run);
	if (address) {
		plan->master_addr = arena_strdup(&plan->arena, address);
		plan->master_port = port;
	}
	return plan->arena.failed ? GPUMAP_ENOMEM : GPUMAP_OK;
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
	return choose_port(plan, job, hosts->scheduled, report);
}
