/* SPDX-License-Identifier: MIT */
/* See print_findings.h. */
#include "settings/print_findings.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"

enum { LONGEST = 400 };

static void write_finding(char *line, size_t size, const gpumap_finding *finding)
{
	const char *origin = gpumap_finding_str(finding, GPUMAP_FINDING_ORIGIN);
	const char *fix = gpumap_finding_str(finding, GPUMAP_FINDING_FIX);
	int64_t number = gpumap_finding_int(finding, GPUMAP_FINDING_LINE);
	char place[24] = "";

	if (origin && number > 0)
		snprintf(place, sizeof(place), ":%lld", (long long)number);
	snprintf(line, size, "%.120s%s%s%.200s%s%.150s [%s]", origin ? origin : "", place,
		 origin ? ": " : "", gpumap_finding_str(finding, GPUMAP_FINDING_TEXT),
		 fix ? "; " : "", fix ? fix : "", gpumap_finding_str(finding, GPUMAP_FINDING_ID));
}

bool findings_fail(const gpumap_report *report, int code, struct train_error *error)
{
	char line[LONGEST + 100];

	if (code == GPUMAP_ENOMEM)
		memory_ran_out();
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *finding = gpumap_report_get(report, i);

		if (gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY) != GPUMAP_SEVERITY_ERROR)
			continue;
		write_finding(line, sizeof(line), finding);
		return train_fail(error, TRAIN_BAD_INPUT, "%s", line);
	}
	return train_fail(error, TRAIN_BAD_INPUT, "%s", gpumap_strerror(code));
}

static bool listed(const char *const *ids, const char *id)
{
	while (ids && *ids && strcmp(*ids, id) != 0)
		ids++;
	return ids && *ids;
}

void findings_print(const gpumap_report *report, const char *const *except)
{
	char line[LONGEST + 100];

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *finding = gpumap_report_get(report, i);
		int64_t severity = gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY);

		if (severity == GPUMAP_SEVERITY_ERROR ||
		    listed(except, gpumap_finding_str(finding, GPUMAP_FINDING_ID)))
			continue;
		write_finding(line, sizeof(line), finding);
		fprintf(stderr, "gpumap-train: %s: %s\n",
			severity == GPUMAP_SEVERITY_WARNING ? "warning" : "remark", line);
	}
}
