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

int plan_finish(struct output *output, int code, bool answered)
{
	char *text = NULL;

	if (code != GPUMAP_OK && !ferror(stdout) && output->format == GPUMAP_FORMAT_JSON) {
		if (gpumap_plan_format(&text, NULL, GPUMAP_FORMAT_JSON, 0, output->report) ==
		    GPUMAP_OK)
			print_text(text, output->report);
		else
			report_nomem(output->report);
		free(text);
		output->format = GPUMAP_FORMAT_TEXT;
	}
	return finish(output, code, answered);
}
