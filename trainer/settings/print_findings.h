/* SPDX-License-Identifier: MIT */
/* Findings of libgpumap as messages of the trainer. */
#ifndef TRAIN_SETTINGS_FINDINGS_H
#define TRAIN_SETTINGS_FINDINGS_H

#include <gpumap.h>

#include "base/error.h"
#include "memory.h"

/* A report that is freed with its variable. */
static inline gpumap_report *findings_new(void)
{
	gpumap_report *report = NULL;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		memory_ran_out();
	return report;
}
static inline void findings_drop(gpumap_report **report)
{
	gpumap_report_free(*report);
}
#define FINDINGS CLEANUP(findings_drop) gpumap_report

/* Bad input with the first error of the report, or the text of `code`. Returns false. */
bool findings_fail(const gpumap_report *report, int code, struct train_error *error);
/* The same unless the code is GPUMAP_OK. */
static inline bool findings_good(const gpumap_report *report, int code, struct train_error *error)
{
	return code == GPUMAP_OK || findings_fail(report, code, error);
}

/* Remarks and warnings to stderr, a line each, but for those with an id of `except`, which ends
 * with NULL and may be NULL. */
void findings_print(const gpumap_report *report, const char *const *except);

#endif
