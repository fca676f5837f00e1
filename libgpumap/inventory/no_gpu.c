/* SPDX-License-Identifier: MIT */
/* Why no GPU of this host answers. */
#include "inventory/host.h"

#include <stdio.h>

#include "inventory/nvml.h"

static void PRINTF(4, 5) set_cause(struct no_gpu_reason *reason, enum finding_id id,
				   const char *fix, const char *format, ...)
{
	va_list args;

	reason->finding = id;
	reason->fix = fix;
	va_start(args, format);
	vsnprintf(reason->text, sizeof(reason->text), format, args);
	va_end(args);
}

static void unloaded(struct no_gpu_reason *reason, const struct no_gpu_host *host)
{
	if (host->gpus)
		set_cause(
			reason, FINDING_NO_DRIVER,
			"install the driver, or load it: modprobe nvidia",
			"no NVIDIA driver is loaded; the %zu NVIDIA GPU%s on the PCI bus cannot be "
			"used",
			host->gpus, host->gpus == 1 ? "" : "s");
	else if (host->nvml == NVML_ERROR_LIBRARY_NOT_FOUND)
		set_cause(reason, FINDING_NO_GPU, NULL,
			  "this host has no NVIDIA GPU (none on the PCI bus, and no driver)");
	else
		set_cause(reason, FINDING_NO_DRIVER, NULL,
			  "no NVIDIA driver is loaded and no NVIDIA GPU is on the PCI bus "
			  "(libnvidia-ml.so.1 reports: %s)",
			  nvml_text(host->nvml));
}

/* NVML answers, but has no GPU. */
static void empty(struct no_gpu_reason *reason, const struct no_gpu_host *host, const char *driver)
{
	static const char grant[] = "ask for GPUs where the container or job is made";

	if (host->left_out)
		set_cause(reason, FINDING_NO_GPU, NULL,
			  "this process can use no GPU: NVML counts %zu and opens none",
			  host->left_out);
	else if (host->gpus)
		set_cause(
			reason, FINDING_NO_GPU, grant,
			"the NVIDIA driver%s drives %zu GPU%s, but this process was granted no GPU",
			driver, host->gpus, host->gpus == 1 ? "" : "s");
	else
		set_cause(reason, FINDING_NO_GPU, NULL,
			  "the NVIDIA driver%s is loaded and drives no GPU", driver);
}

static void loaded(struct no_gpu_reason *reason, const struct no_gpu_host *host, const char *driver)
{
	/* Checked before the library: a container without a grant lacks both. */
	if (host->device_error)
		set_cause(reason, FINDING_NO_DRIVER,
			  "ask for GPUs where the container or job is made",
			  "the NVIDIA driver%s is loaded, but this process cannot open "
			  "/dev/nvidiactl: %s",
			  driver, strerror(host->device_error));
	else if (host->nvml == NVML_ERROR_LIBRARY_NOT_FOUND)
		set_cause(reason, FINDING_NO_DRIVER,
			  "install the driver's libraries; in a container ask for the driver "
			  "capability 'utility'",
			  "the NVIDIA driver%s is loaded, but libnvidia-ml.so.1 is missing",
			  driver);
	else if (host->nvml == NVML_ERROR_FUNCTION_NOT_FOUND)
		set_cause(
			reason, FINDING_NO_DRIVER, "install the libraries of the loaded driver",
			"the NVIDIA driver%s is loaded, but libnvidia-ml.so.1 is of another driver",
			driver);
	else if (host->nvml == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
		set_cause(reason, FINDING_NO_DRIVER, "reboot, or unload and load the driver",
			  "the loaded NVIDIA driver%s and its libraries differ in version", driver);
	else
		set_cause(reason, FINDING_NO_DRIVER, "see dmesg for NVRM",
			  "the NVIDIA driver%s is loaded, but NVML reports: %s", driver,
			  nvml_text(host->nvml));
}

void no_gpu_explain(struct no_gpu_reason *ret, const struct no_gpu_host *host)
{
	char driver[96] = "";

	if (host->driver)
		snprintf(driver, sizeof(driver), " %s", host->driver);
	if (host->nvml == NVML_SUCCESS)
		empty(ret, host, driver);
	else if (!host->loaded)
		unloaded(ret, host);
	else
		loaded(ret, host, driver);
	/* CUDA has libraries of its own: without NVML the GPUs may still work. */
	ret->unusable = host->nvml == NVML_SUCCESS || !host->loaded || host->device_error ||
			host->nvml == NVML_ERROR_LIB_RM_VERSION_MISMATCH || !host->gpus;
}
