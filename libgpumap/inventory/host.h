/* SPDX-License-Identifier: MIT */
/* What the kernel's files tell about the GPUs of this host. */
#ifndef GM_HOST_H
#define GM_HOST_H

#include "inventory/inventory.h"
#include "inventory/nvml_api.h"

/* The start of a small file, at most size - 1 bytes, blanks at both ends cut off;
 * false: it cannot be read, *ret is then "". The path is given as a format. */
bool host_read(char *ret, size_t size, const char *format, ...) PRINTF(3, 4);

/* Fills NUMA node and CPUs that are not known yet from root/sys/bus/pci/devices. */
int host_affinity(gpumap_device *device, const char *root);

/* How a host looks on which NVML gave no answer. */
struct silent_host {
	enum nvml_return nvml;
	bool loaded;        /* the driver is in the kernel */
	const char *driver; /* its version, NULL: not known */
	size_t gpus;        /* found without NVML */
	int device_error;   /* errno of opening /dev/nvidiactl, 0: it opens */
};

/* Reports which of rule E1's cases it is. */
void report_silent_host(const struct silent_host *host, gpumap_report *report);

#endif
