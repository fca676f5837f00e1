/* SPDX-License-Identifier: MIT */
/* The result of a run: the rank that failed first, and the status that follows. */
#include "report.h"
#include "signal_name.h"
#include "supervise.h"

static int exit_status(const struct launch_exit *e)
{
	return e->signal ? 128 + e->signal : e->status;
}

static const struct launch_exit *first_failure(const struct launch_result *result)
{
	const struct launch_exit *first = NULL;

	for (size_t i = 0; i < result->count; i++) {
		const struct launch_exit *e = &result->ranks[i];

		if (e->first && (!first || e->end_ns < first->end_ns))
			first = e;
	}
	return first;
}

static void report_failure(const struct launch_rank *rank, const struct launch_exit *e,
			   gpumap_report *report)
{
	double seconds = (double)(e->end_ns - e->start_ns) / 1e9;
	const char *tag = rank->tag ? rank->tag : "";

	if (e->signal)
		report_add(report, FINDING_RANK_FAILED, NULL,
			   "%srank %d (pid %d) was ended by %s%s after %.3f s", tag, rank->rank,
			   (int)e->pid, SIGNAL_TEXT(e->signal), e->dumped ? ", core dumped," : "",
			   seconds);
	else
		report_add(report, FINDING_RANK_FAILED, NULL,
			   "%srank %d (pid %d) ended with status %d after %.3f s", tag, rank->rank,
			   (int)e->pid, e->status, seconds);
}

void supervise_conclude(struct supervisor *s)
{
	enum { MAX_LISTED = 8 };
	struct launch_result *result = s->result;
	const struct launch_exit *first = first_failure(result);
	size_t failures = 0;

	for (size_t i = 0; i < result->count; i++)
		if (result->ranks[i].first && ++failures <= MAX_LISTED)
			report_failure(&s->launch->ranks[i], &result->ranks[i], s->report);
	if (failures > MAX_LISTED)
		report_add(s->report, FINDING_RANK_FAILED, NULL, "so did %zu more within %d ms",
			   failures - MAX_LISTED, WINDOW_MS);
	if (result->left_behind)
		report_add(s->report, FINDING_LEFT_BEHIND, NULL,
			   "%zu processes that outlived their ranks were ended",
			   result->left_behind);
	if (s->refused)
		result->status = s->refusal;
	else if (result->cause == LAUNCH_BROKEN)
		result->status = OWN_FAILURE;
	else if (result->cause == LAUNCH_TIMED_OUT)
		result->status = TIME_LIMIT;
	else if (result->cause == LAUNCH_SIGNALLED)
		result->status = 128 + result->signal;
	else
		result->status = first ? exit_status(first) : 0;
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
