/* SPDX-License-Identifier: MIT */
/* Runs recorded text through one reader alone, then merges and checks as for all. */
#ifndef GM_ONE_READER_H
#define GM_ONE_READER_H

#include "inventory/recorded.h"

static inline void fuzz_inventory(int code, gpumap_inventory *inventory)
{
	if ((code == GPUMAP_OK) != (inventory != NULL))
		abort();
	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++) {
		const gpumap_device *d = gpumap_inventory_get(inventory, i);
		const char *name = gpumap_device_str(d, GPUMAP_DEVICE_NAME);

		/* what goes to JSON is UTF-8 */
		for (size_t n; name && *name; name += n) {
			n = utf8_length(name, strlen(name));
			if (!n)
				abort();
		}
	}
	gpumap_inventory_free(inventory);
}

static inline int fuzz_readers(const struct format *const formats[], size_t count,
			       const uint8_t *data, size_t size)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	int code;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	code = recorded_parse_with(&inventory, formats, count,
				   (struct span){(const char *)data, size}, "fuzz", report);
	fuzz_inventory(code, inventory);
	gpumap_report_free(report);
	return 0;
}

static inline int fuzz_reader(const struct format *format, const uint8_t *data, size_t size)
{
	return fuzz_readers(&format, 1, data, size);
}

#endif
