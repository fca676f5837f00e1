/* SPDX-License-Identifier: MIT */
#include "lint/files.h"

#include <string.h>

#include "report.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static bool same(const gpumap_finding *a, const gpumap_finding *b)
{
	return gpumap_finding_int(a, GPUMAP_FINDING_LINE) ==
		       gpumap_finding_int(b, GPUMAP_FINDING_LINE) &&
	       same_text(gpumap_finding_str(a, GPUMAP_FINDING_ORIGIN),
			 gpumap_finding_str(b, GPUMAP_FINDING_ORIGIN)) &&
	       same_text(gpumap_finding_str(a, GPUMAP_FINDING_TEXT),
			 gpumap_finding_str(b, GPUMAP_FINDING_TEXT));
}

void lint_relay(gpumap_report *to, const gpumap_report *from)
{
	size_t before = gpumap_report_count(to);

	for (size_t i = 0; i < gpumap_report_count(from); i++) {
		const gpumap_finding *f = gpumap_report_get(from, i);
		int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
		int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);
		size_t k = 0;

		while (k < before && !same(gpumap_report_get(to, k), f))
			k++;
		if (k == before)
			report_relay(to, f,
				     ABOUT(.origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
					   .line = line > 0 ? (int)line : 0,
					   .column = column > 0 ? (int)column : 0));
	}
}
