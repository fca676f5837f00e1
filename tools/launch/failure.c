/* SPDX-License-Identifier: MIT */
/* The ranks that failed first, which are the cause; the others follow. */
#include "launch/supervise.h"
#include "report/report.h"
#include "signal_name.h"

void failure_note(struct supervisor *s, struct launch_exit *e)
{
	if (e->stopped)
		return;
	if (!s->first_ns)
		s->first_ns = e->end_ns;
	e->first = e->end_ns - s->first_ns <= WINDOW_MS * (int64_t)NS_PER_MS;
	on_fail_stop(s);
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

const struct launch_exit *failure_report(struct supervisor *s)
{
	enum { MAX_LISTED = 8 };
	const struct launch_result *result = s->result;
	size_t failures = 0;

	for (size_t i = 0; i < result->count; i++)
		if (result->ranks[i].first && ++failures <= MAX_LISTED)
			report_failure(&s->launch->ranks[i], &result->ranks[i], s->report);
	if (failures > MAX_LISTED)
		report_add(s->report, FINDING_RANK_FAILED, NULL, "so did %zu more within %d ms",
			   failures - MAX_LISTED, WINDOW_MS);
	return first_failure(result);
}
