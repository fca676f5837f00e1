/* SPDX-License-Identifier: MIT */
/* The lint of shell scripts: findings and programs have a place inside the text. */
#include "lint/shell.h"

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lines(const uint8_t *data, size_t size)
{
	int count = 1;

	for (size_t i = 0; i < size; i++)
		count += data[i] == '\n';
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	struct lint_started started = {0};
	gpumap_report *report = NULL;
	const gpumap_finding *f;
	int last = lines(data, size), r;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	r = lint_shell(text, "fuzz", size % 9 - 1, &started, report);
	if (r != GPUMAP_OK && r != GPUMAP_ELIMIT)
		abort();
	for (size_t i = 0; (f = gpumap_report_get(report, i)); i++) {
		int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
		int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);

		if (finding_is(f, FINDING_LIMIT))
			continue;
		if (line < 1 || line > last || column < 1 || column > (int64_t)size + 1 ||
		    !gpumap_finding_str(f, GPUMAP_FINDING_FIX))
			abort();
	}
	for (size_t i = 0; i < started.count; i++)
		if (!*started.starts[i].path || started.starts[i].line < 1 ||
		    started.starts[i].line > last)
			abort();
	gpumap_report_free(report);
	lint_started_free(&started);
	return 0;
}
