/* SPDX-License-Identifier: MIT */
/* From a file, or the value of --inventory, to an inventory. */
#include "inventory/inventory.h"

#include <errno.h>

#include "readfile.h"

static const char *read_fix(int error)
{
	switch (error) {
	case EFBIG:
		return "give the output of one machine";
	case ENOENT:
		return "give a file, a number such as 8, a machine such as 8xH100 or "
		       "2xH100+6xA100, or host";
	default:
		return NULL;
	}
}

EXPORT int gpumap_inventory_read(gpumap_inventory **ret, const char *path, gpumap_report *report)
{
	const char *name = streq(path, "-") ? "standard input" : path;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int error = read_file(path, true, GPUMAP_MAX_FILE, &text, &size);

	if (error)
		return report_read(report, error, name, "the inventory", GPUMAP_MAX_FILE,
				   read_fix(error));
	return gpumap_inventory_parse(ret, text, size, name, report);
}

EXPORT int gpumap_inventory_parse(gpumap_inventory **ret, const char *text, size_t size,
				  const char *origin, gpumap_report *report)
{
	struct span all = {text, size};

	if (size > GPUMAP_MAX_FILE)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "larger than %u MiB", GPUMAP_MAX_FILE >> 20);
	if (snapshot_recognise(all))
		return snapshot_parse(ret, all, origin, report);
	return recorded_parse(ret, all, origin, report);
}

/* "8", "8xH100", "2xH100+6xA100": a name that begins with digits is not a file, unless written
 * "./8". */
bool synthetic_recognise(const char *what)
{
	size_t digits = strspn(what, "0123456789");

	return digits && (!what[digits] || strchr("x+,;", what[digits])) && !strchr(what, '/');
}

EXPORT int gpumap_inventory_open(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	if (streq(what, "host"))
		return gpumap_inventory_probe(ret, 0, NULL, report);
	if (synthetic_recognise(what))
		return synthetic_parse(ret, span_of(what), report);
	return gpumap_inventory_read(ret, what, report);
}
