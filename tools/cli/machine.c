/* SPDX-License-Identifier: MIT */
/* Opens the machine that --inventory, or GPUMAP_INVENTORY, names. */
#include "cli/machine.h"

#include <stdlib.h>

#include "report/report.h"

#define VARIABLE "GPUMAP_INVENTORY"

const char *machine_named(const char *option, unsigned flags)
{
	const char *value = flags ? NULL : getenv(VARIABLE);

	return option ? option : value && *value ? value : NULL;
}

/* The library would take any name as the value of an option. */
static int open_named(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	const char *variable = getenv(VARIABLE);
	OWNED(report) *scratch = NULL;
	int r;

	if (what != variable)
		return gpumap_inventory_open(ret, what, report);
	scratch = new_report();
	r = scratch ? gpumap_inventory_open(ret, what, scratch) : GPUMAP_ENOMEM;
	for (size_t i = 0; i < gpumap_report_count(scratch); i++) {
		const gpumap_finding *f = gpumap_report_get(scratch, i);
		const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

		if (origin && streq(origin, "--inventory"))
			report_relay(report, f, ABOUT(.origin = VARIABLE));
		else
			report_copy(report, f);
	}
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

static int only_here(const char *option, const char *text, const char *what, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.origin = option, .fix = "leave one of the two out"),
			   "only this machine%s, not that of '%s'", text, QUOTE(span_of(what)));
}

int machine_open(gpumap_inventory **ret, const char *what, unsigned flags, gpumap_report *report)
{
	if (!what || streq(what, "host"))
		return gpumap_inventory_probe(ret, flags, NULL, report);
	if (flags & GPUMAP_PROBE_FLAG_ASK_DRIVER)
		return only_here("--ask-driver", "'s driver can be asked", what, report);
	if (flags & GPUMAP_PROBE_FLAG_USAGE)
		return only_here("--usage", "'s use can be read", what, report);
	return open_named(ret, what, report);
}

bool machine_has_gpus(const gpumap_inventory *inventory)
{
	return gpumap_inventory_count(inventory) &&
	       !gpumap_inventory_str(inventory, GPUMAP_INVENTORY_NO_GPU);
}

int64_t machine_host_gpus(void)
{
	OWNED(inventory) *inventory = NULL;
	int64_t count = 0;

	if (machine_open(&inventory, "host", 0, NULL) == GPUMAP_OK)
		count = (int64_t)gpumap_inventory_count(inventory);
	return count;
}
