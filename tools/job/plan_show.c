/* SPDX-License-Identifier: MIT */
/* See plan_show.h. */
#include "job/plan_show.h"

#include <stdlib.h>

#include "cli/color.h"
#include "report/report.h"

int plan_show(const gpumap_plan *plan, const struct output *output, bool origin, bool *answered)
{
	CLEANUP_FREE char *text = NULL;
	int r = gpumap_plan_format(&text, plan, output->format,
				   color_flags() | (origin ? GPUMAP_FORMAT_FLAG_ORIGINS : 0),
				   output->report);

	*answered = gpumap_plan_int(plan, GPUMAP_PLAN_ANSWERED) == 1;
	return r == GPUMAP_OK ? print_text(text, output->report) : r;
}

int no_plan(char **text, const struct output *output)
{
	return gpumap_plan_format(text, NULL, GPUMAP_FORMAT_JSON, 0, output->report);
}
