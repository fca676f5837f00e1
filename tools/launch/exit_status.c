/* SPDX-License-Identifier: MIT */
/* The exit statuses of a run, of a program that cannot be executed, and without a lease. */
#include "exit_status.h"

#include <errno.h>

#include "report/report.h"
#include "signal_name.h"
#include "supervise.h"

int status_of_error(int error)
{
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

int status_of_lease(int code, const gpumap_report *report)
{
	for (size_t i = 0; code == GPUMAP_EBUSY && i < gpumap_report_count(report); i++)
		if (finding_is(gpumap_report_get(report, i), FINDING_LEASE_WAITED))
			return STATUS_TIME_LIMIT;
	return STATUS_OWN_FAILURE;
}

void supervise_conclude(struct supervisor *s)
{
	struct launch_result *result = s->result;
	const struct launch_exit *first = failure_report(s);

	if (result->left_behind)
		report_add(s->report, FINDING_LEFT_BEHIND, NULL,
			   "%zu processes that outlived their ranks were ended",
			   result->left_behind);
	if (s->refused)
		result->status = s->refusal;
	else if (result->cause == LAUNCH_BROKEN)
		result->status = STATUS_OWN_FAILURE;
	else if (result->cause == LAUNCH_TIMED_OUT)
		result->status = STATUS_TIME_LIMIT;
	else if (result->cause == LAUNCH_SIGNALLED)
		result->status = 128 + result->signal;
	else
		result->status = !first ? 0 : first->signal ? 128 + first->signal : first->status;
	if (result->cause == LAUNCH_TIMED_OUT)
		report_add(s->report, FINDING_STOPPED,
			   ABOUT(.fix = SETTING("timeout = 0") " means no limit",
				 .speech = s->launch->speech),
			   "the time limit of %.10g s was reached",
			   (double)s->launch->timeout_ms / 1e3);
	else if (result->cause == LAUNCH_SIGNALLED)
		report_add(s->report, FINDING_STOPPED, NULL, "the run was stopped by %s",
			   SIGNAL_TEXT(result->signal));
}
