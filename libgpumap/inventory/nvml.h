/* SPDX-License-Identifier: MIT */
/* The inventory from NVML; the files nvml*.c share one loaded library. */
#ifndef GM_NVML_H
#define GM_NVML_H

#include "inventory/inventory.h"
#include "nvml_library.h"

/* GPUMAP_ENODRIVER: the library is missing or does not answer. *why then has the reason, and
 * nothing is reported, because only the caller knows the rest of the host. */
int nvml_probe(gpumap_inventory **ret, enum nvml_return *why, gpumap_report *report);

/* nvml_probe() for a library that is loaded. */
int nvml_read(gpumap_inventory **ret, const struct nvml *nvml, enum nvml_return *why,
	      gpumap_report *report);

/* Reads the MIG mode of a GPU and its instances into `gpu`. */
int nvml_read_mig(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *gpu);

/* Reads the NVLink neighbours of all GPUs; handles[i] belongs to inventory->gpus[i]. */
int nvml_read_links(const struct nvml *nvml, struct nvml_handle *const *handles,
		    gpumap_inventory *inventory);

/* "1c.2g.20gb" from the name of a MIG instance ("... MIG 1c.2g.20gb"), or else computed from its
 * shares of a GPU with `total` bytes; false: not known. */
bool mig_profile(char ret[32], const char *name, const struct nvml_attributes *shares,
		 int64_t total);

#endif
