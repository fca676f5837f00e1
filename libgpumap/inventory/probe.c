/* SPDX-License-Identifier: MIT */
/* The GPUs of this host, from the first source that answers. */
#include "inventory/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "inventory/driver.h"
#include "inventory/nvml.h"
#include "rootfile.h"

#define PROBE_FLAGS (GPUMAP_PROBE_FLAG_ASK_DRIVER | GPUMAP_PROBE_FLAG_USAGE)

static int device_error(const char *root)
{
	struct stat about;
	int fd;

	/* A device file in a copy of another machine is one of this machine. */
	if (*root && root_stat(root, "/dev/nvidiactl", &about) == 0 && !S_ISREG(about.st_mode))
		return 0;
	fd = root_open(root, "/dev/nvidiactl", O_RDWR);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Reports why NVML has no GPU, and keeps the reason if no program can use one. */
static int explain_no_gpu(gpumap_inventory *inventory, const struct no_gpu_host *host,
			  gpumap_report *report)
{
	struct no_gpu_reason reason;

	no_gpu_explain(&reason, host);
	report_add(report, reason.finding, ABOUT(.rule = "E1", .fix = reason.fix), "%s",
		   reason.text);
	if (!reason.unusable)
		return GPUMAP_OK;
	inventory->no_gpu_fix = reason.fix;
	return member_set(&inventory->no_gpu, span_of(reason.text)) ? GPUMAP_OK
								    : report_nomem(report);
}

int probe_without_nvml(gpumap_inventory **ret, const char *root, enum nvml_return why,
		       gpumap_report *report)
{
	struct no_gpu_host host = {.nvml = why};
	char version[16];
	int r = proc_probe(ret, root, report);

	if (r != GPUMAP_OK)
		return r;
	host.loaded = host_read(version, sizeof(version), root, "/proc/driver/nvidia/version");
	host.driver = (*ret)->driver;
	host.gpus = (*ret)->count;
	host.device_error = host.loaded ? device_error(root) : 0;
	return explain_no_gpu(*ret, &host, report);
}

/* How many GPUs the kernel's files list for the driver of this NVML: none if NVML serves another
 * machine. */
static int count_driven(size_t *ret, const char *root, const char *driver, gpumap_report *report)
{
	OWNED(inventory) *listed = NULL;
	int r = proc_probe(&listed, root, report);

	*ret = 0;
	if (r == GPUMAP_OK && driver && listed->driver && streq(driver, listed->driver))
		*ret = listed->count;
	return r;
}

int probe_empty(gpumap_inventory *inventory, const char *root, gpumap_report *report)
{
	struct no_gpu_host host = {
		.nvml = NVML_SUCCESS,
		.loaded = true,
		.driver = inventory->driver,
		.left_out = inventory->left_out,
	};
	int r = count_driven(&host.gpus, root, inventory->driver, report);

	return r == GPUMAP_OK ? explain_no_gpu(inventory, &host, report) : r;
}

/* Notes host and date: the inventory may be read elsewhere, later. */
static bool stamp(gpumap_inventory *inventory)
{
	char host[256] = "", date[TIME_TEXT];

	if (gethostname(host, sizeof(host) - 1) != 0)
		*host = '\0';
	if (*host && (!member_set(&inventory->host, span_of(host)) ||
		      !member_set(&inventory->origin, span_of(host))))
		return false;
	time_text(date, time(NULL));
	return !*date || member_set(&inventory->date, span_of(date));
}

EXPORT int gpumap_inventory_probe(gpumap_inventory **ret, unsigned flags, const char *helper,
				  gpumap_report *report)
{
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;
	int r;

	/* Unknown flags of a newer interface are an error. */
	if (flags & ~PROBE_FLAGS)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, NULL,
				   "no such flags: 0x%x", flags & ~PROBE_FLAGS);
	r = nvml_probe(&inventory, flags & GPUMAP_PROBE_FLAG_USAGE, &why, report);
	if (r == GPUMAP_ENODRIVER)
		r = probe_without_nvml(&inventory, "", why, report);
	else if (r == GPUMAP_OK && !inventory->count)
		r = probe_empty(inventory, "", report);
	if (r == GPUMAP_OK && !stamp(inventory))
		r = report_nomem(report);
	if (r == GPUMAP_OK && flags & GPUMAP_PROBE_FLAG_ASK_DRIVER)
		r = driver_order(inventory, helper, DRIVER_PATIENCE, report);
	return give_inventory(ret, inventory, r);
}
