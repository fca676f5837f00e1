/* SPDX-License-Identifier: MIT */
/* A launcher that a plan would start several times, though it starts ranks itself. */
#include "job/plan_open.h"

#include "cli/foreign_option.h"
#include "cli/hint_line.h"
#include "report/report.h"

bool plan_nests(const char *const *arguments, size_t count, size_t ranks, gpumap_report *report)
{
	const char *launcher = foreign_launcher(arguments, count);
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	if (!launcher || ranks < 2)
		return false;
	hint_fill(&fix,
		  streq(launcher, "torchrun")
			  ? "leave the word out, since gpumap takes its options: {...|}; or start "
			    "it once: --ranks 1"
			  : "leave it out with its options, for which gpumap run has its own, or "
			    "start it once: --ranks 1",
		  (char **)(uintptr_t)arguments);
	report_add(report, FINDING_NOT_HERE, ABOUT(.fix = fix.text),
		   "%s starts ranks itself, and would be started %zu times", launcher, ranks);
	return true;
}
