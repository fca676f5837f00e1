/* SPDX-License-Identifier: MIT */
#include "one-reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	int code;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	code = recorded_parse(&inventory, (struct span){(const char *)data, size}, "fuzz", report);
	fuzz_inventory(code, inventory);
	gpumap_report_free(report);
	return 0;
}
