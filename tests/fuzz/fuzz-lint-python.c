/* SPDX-License-Identifier: MIT */
/* The Python linter takes any text, and what it finds has a place in it. */
#include "lint/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t count_lines(const char *text, size_t size)
{
	int64_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n' || text[i] == '\r';
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const arguments[] = {"--n", "4", NULL};
	static const struct python_start starts[] = {{.passes = -1},
						     {.launcher = "torchrun"},
						     {.launcher = "launch", .passes = 1},
						     {.launcher = "torchrun",
						      .from = "a.sh:2",
						      .list = "2,3",
						      .list_from = "a.sh:1",
						      .visible = 2,
						      .ranks = 2,
						      .hosts = 2,
						      .port = 29500,
						      .port_by_default = true,
						      .arguments = arguments},
						     {.launcher = "gpumap run",
						      .planned = true,
						      .list = "0,1",
						      .visible = 2,
						      .ranks = 2,
						      .hosts = 1,
						      .port = -1,
						      .meeting = true}};
	const char *text = (const char *)data;
	struct python_device device;
	gpumap_report *report;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	lint_python((struct span){text, size}, "a.py", &starts[size % ARRAY_SIZE(starts)], report);
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (gpumap_finding_int(f, GPUMAP_FINDING_LINE) > count_lines(text, size) ||
		    gpumap_finding_int(f, GPUMAP_FINDING_COLUMN) > (int64_t)size + 1)
			abort();
	}
	gpumap_report_free(report);
	device = lint_python_device((struct span){text, size});
	if (device.line > count_lines(text, size) || !*device.text != !device.line)
		abort();
	return 0;
}
