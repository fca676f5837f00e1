/* SPDX-License-Identifier: MIT */
/* GPUs of this host, as the kernel's files describe them. */
#ifndef GM_HOST_H
#define GM_HOST_H

#include "inventory/inventory.h"
#include "nvml_api.h"

/* Reads the start of a small file below `root`, at most size - 1 bytes, and trims blanks. False: it
 * cannot be read; *ret is then "". The path is a format. */
bool host_read(char *ret, size_t size, const char *root, const char *format, ...) PRINTF(4, 5);

/* Whether the PCI device is a virtual function (SR-IOV), of a GPU that counts itself. */
bool host_is_virtual(const char *root, const char *name);

/* The driver's version in the text of /proc/driver/nvidia/version, "NVRM version: NVIDIA UNIX
 * x86_64 Kernel Module  570.124.06  Tue ...": the first word of digits and points. Empty: it has
 * none. */
struct span host_driver_version(const char *text);

/* Fills in NUMA node and CPUs that are not known yet, from root/sys/bus/pci/devices. */
int host_affinity(gpumap_device *device, const char *root);

/* The state of a host without a GPU from NVML. */
struct no_gpu_host {
	enum nvml_return nvml; /* NVML_SUCCESS: it answers, but has no GPU */
	bool loaded;           /* the kernel driver is loaded */
	const char *driver;    /* its version, NULL: not known */
	size_t gpus;           /* found without NVML */
	size_t left_out;       /* counted by NVML, which can open none of them */
	int device_error;      /* errno of opening /dev/nvidiactl, 0: it opens */
};

/* The case of rule E1 that applies. */
struct no_gpu_reason {
	enum finding_id finding;
	const char *fix; /* static; NULL: none */
	char text[256];
	bool unusable; /* no program can use a GPU there */
};
void no_gpu_explain(struct no_gpu_reason *ret, const struct no_gpu_host *host);

/* The host's GPUs if NVML does not answer, and why it does not; `root` "" is this machine. */
int probe_without_nvml(gpumap_inventory **ret, const char *root, enum nvml_return why,
		       gpumap_report *report);
/* Reports why the inventory from NVML is empty. */
int probe_empty(gpumap_inventory *inventory, const char *root, gpumap_report *report);

#endif
