/* SPDX-License-Identifier: MIT */
/* Why NVML gives no answer on this host. */
#include "inventory/host.h"

#include "inventory/nvml.h"

#define ON_HOST(remedy) ABOUT(.rule = "E1", .fix = (remedy))

static void report_unloaded(const struct silent_host *host, gpumap_report *report)
{
	if (host->gpus)
		report_add(report, FINDING_NO_DRIVER,
			   ON_HOST("install the driver, or load it: modprobe nvidia"),
			   "no NVIDIA driver is loaded; the %zu NVIDIA GPU%s on the PCI bus cannot "
			   "be used",
			   host->gpus, host->gpus == 1 ? "" : "s");
	else if (host->nvml == NVML_ERROR_LIBRARY_NOT_FOUND)
		report_add(report, FINDING_NO_GPU, ON_HOST(NULL),
			   "this host has no NVIDIA GPU: none on the PCI bus, and no driver");
	else
		report_add(report, FINDING_NO_DRIVER, ON_HOST(NULL),
			   "no NVIDIA driver is loaded and no NVIDIA GPU is on the PCI bus "
			   "(libnvidia-ml.so.1 says: %s)",
			   nvml_text(host->nvml));
}

void report_silent_host(const struct silent_host *host, gpumap_report *report)
{
	const char *driver = host->driver ? host->driver : "(version not known)";

	if (!host->loaded)
		report_unloaded(host, report);
	else if (host->nvml == NVML_ERROR_LIBRARY_NOT_FOUND)
		report_add(report, FINDING_NO_DRIVER,
			   ON_HOST("install the driver's libraries; in a container ask for the "
				   "driver capability 'utility'"),
			   "the NVIDIA driver %s is loaded, but libnvidia-ml.so.1 is missing",
			   driver);
	else if (host->nvml == NVML_ERROR_FUNCTION_NOT_FOUND)
		report_add(report, FINDING_NO_DRIVER,
			   ON_HOST("install the libraries of the loaded driver"),
			   "the NVIDIA driver %s is loaded, but libnvidia-ml.so.1 is not of it",
			   driver);
	else if (host->nvml == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
		report_add(
			report, FINDING_NO_DRIVER, ON_HOST("reboot, or unload and load the driver"),
			"the loaded NVIDIA driver %s and its libraries differ in version", driver);
	else if (host->device_error)
		report_add(report, FINDING_NO_DRIVER,
			   ON_HOST("ask for GPUs where the container or job is made"),
			   "the NVIDIA driver %s is loaded, but this process cannot open "
			   "/dev/nvidiactl: %s",
			   driver, strerror(host->device_error));
	else
		report_add(report, FINDING_NO_DRIVER, ON_HOST("see dmesg for NVRM"),
			   "the NVIDIA driver %s is loaded, but NVML says: %s", driver,
			   nvml_text(host->nvml));
}
