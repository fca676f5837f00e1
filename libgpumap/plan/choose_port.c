/* SPDX-License-Identifier: MIT */
/* The port where ranks meet. */
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

int job_choose_port(gpumap_plan *plan, const char *job, bool later, gpumap_report *report)
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
