/* SPDX-License-Identifier: MIT */
/* The library's findings about a value in a Python file, which is not parsed a second time. */
#include "lint/python_file.h"

static const char assumed[] = "assumed";

/* Findings about what was only assumed are left out. */
static bool carried(const gpumap_finding *f, int64_t severity)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

	return gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == severity &&
	       !(origin && streq(origin, assumed));
}

static int ask(const struct python_judge *judge, const struct observation *s,
	       const struct python_statement *statement, enum gpumap_severity severity,
	       gpumap_report *report)
{
	const gpumap_inventory *inventory = judge->start ? judge->start->inventory : NULL;
	gpumap_request *request = NULL;
	gpumap_mapping *mapping = NULL;
	int r = gpumap_request_new(&request);

	for (; r == GPUMAP_OK && statement->key; statement++)
		if (statement->value)
			r = gpumap_request_set(request, statement->key, statement->value,
					       statement->assumed ? assumed : NULL, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, request, inventory, report);
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
	if (r == GPUMAP_ENOMEM)
		return r;
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (finding_is(f, FINDING_NOMEM))
			return GPUMAP_ENOMEM;
		if (carried(f, severity))
			report_relay(judge->report, f, AT(judge, s, .fix = NULL));
	}
	return GPUMAP_OK;
}

int judge_ask(const struct python_judge *judge, const struct observation *s,
	      const struct python_statement *statement, enum gpumap_severity severity)
{
	gpumap_report *report;
	int r = gpumap_report_new(&report);

	if (r == GPUMAP_OK) {
		r = ask(judge, s, statement, severity, report);
		gpumap_report_free(report);
	}
	return r == GPUMAP_OK ? r : report_nomem(judge->report);
}
