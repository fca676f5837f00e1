/* SPDX-License-Identifier: MIT */
/* The GPUs of this host, by whoever answers. */
#include "inventory/host.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "inventory/nvml.h"

static int device_error(void)
{
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int probe_without_nvml(gpumap_inventory **ret, enum nvml_return why, gpumap_report *report)
{
	struct silent_host host = {.nvml = why};
	int r = proc_probe(ret, "", report);

	if (r != GPUMAP_OK)
		return r;
	host.loaded = access("/proc/driver/nvidia/version", F_OK) == 0;
	host.driver = (*ret)->driver;
	host.gpus = (*ret)->count;
	host.device_error = device_error();
	report_silent_host(&host, report);
	return GPUMAP_OK;
}

/* Where and when: an inventory may be looked at elsewhere, later. */
static bool stamp(gpumap_inventory *inventory)
{
	char host[256] = "", date[32];
	time_t now = time(NULL);
	struct tm utc;

	if (gethostname(host, sizeof(host) - 1) != 0)
		*host = '\0';
	if (*host && (!member_set(&inventory->host, span_of(host)) ||
		      !member_set(&inventory->origin, span_of(host))))
		return false;
	if (!gmtime_r(&now, &utc) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc))
		return true;
	return member_set(&inventory->date, span_of(date));
}

EXPORT int gpumap_inventory_probe(gpumap_inventory **ret, unsigned flags, const char *helper,
				  gpumap_report *report)
{
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;
	int r;

	/* A flag of a newer library must not be taken for granted. */
	if (flags & ~GPUMAP_PROBE_ASK_DRIVER)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, NULL,
				   "no such flags: 0x%x", flags & ~GPUMAP_PROBE_ASK_DRIVER);
	r = nvml_probe(&inventory, &why, report);
	if (r == GPUMAP_ENODRIVER)
		r = probe_without_nvml(&inventory, why, report);
	if (r == GPUMAP_OK && !stamp(inventory))
		r = report_nomem(report);
	if (r == GPUMAP_OK && flags & GPUMAP_PROBE_ASK_DRIVER)
		r = driver_order(inventory, helper, report);
	if (r != GPUMAP_OK) {
		gpumap_inventory_free(inventory);
		return r;
	}
	*ret = inventory;
	return GPUMAP_OK;
}
