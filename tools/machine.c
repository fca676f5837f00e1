/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include "helper_path.h"
#include "report.h"

int machine_open(gpumap_inventory **ret, const char *what, bool ask_driver, gpumap_report *report)
{
	char helper[4096];

	if (!what || streq(what, "host")) {
		helper_path(helper, sizeof(helper), "tools/gpumap-ask-driver",
			    PKGLIBEXECDIR "/gpumap-ask-driver");
		return gpumap_inventory_probe(ret, ask_driver ? GPUMAP_PROBE_ASK_DRIVER : 0, helper,
					      report);
	}
	if (ask_driver)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			ABOUT(.origin = "--ask-driver", .fix = "leave one of the two out"),
			"only this machine's driver can be asked, not that of '%s'",
			QUOTE(span_of(what)));
	return gpumap_inventory_open(ret, what, report);
}
