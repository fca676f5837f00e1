/* SPDX-License-Identifier: MIT */
/* The inventory from NVML; the files nvml*.c share one loaded library. */
#ifndef GM_NVML_H
#define GM_NVML_H

#include "inventory/inventory.h"
#include "nvml_library.h"

/* `usage`: also reads the usage of the devices. GPUMAP_ENODRIVER: the library is missing or does
 * not answer. *why then has the reason, and nothing is reported, because only the caller knows the
 * rest of the host. */
int nvml_probe(gpumap_inventory **ret, bool usage, enum nvml_return *why, gpumap_report *report);

/* nvml_probe() for a library that is loaded. */
int nvml_read(gpumap_inventory **ret, const struct nvml *nvml, bool usage, enum nvml_return *why,
	      gpumap_report *report);

/* Keeps NVML initialised: what is asked meanwhile is answered in milliseconds, also where the
 * driver would first have to set up each GPU. Without NVML ret->library is NULL. */
void nvml_hold(struct nvml *ret);
void nvml_release(struct nvml *nvml);
/* Reads the GPUs marked in `only` once more, by NVML's numbers, with their usage and without links.
 * The codes of nvml_probe(); nothing is reported. */
int nvml_read_again(gpumap_inventory **ret, const struct nvml *nvml, const bool *only);

/* Reads the MIG mode of a GPU and its instances into `gpu`; migs[i] is the handle of the i-th. */
int nvml_read_mig(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *gpu,
		  struct nvml_handle *migs[MAX_MIG]);

/* Reads the usage of a GPU and its instances. What NVML refuses is reported. *why is the reason if
 * the GPU was lost meanwhile. */
int nvml_read_usage(const struct nvml *nvml, struct nvml_handle *handle,
		    struct nvml_handle *const migs[MAX_MIG], gpumap_device *gpu,
		    enum nvml_return *why, gpumap_report *report);

/* Reads the NVLink neighbours of all GPUs; handles[i] belongs to inventory->gpus[i]. */
int nvml_read_links(const struct nvml *nvml, struct nvml_handle *const *handles,
		    gpumap_inventory *inventory);

/* "1c.2g.20gb" from the name of a MIG instance ("... MIG 1c.2g.20gb"), or else computed from its
 * shares of a GPU with `total` bytes; false: not known. */
bool mig_profile(char ret[32], const char *name, const struct nvml_attributes *shares,
		 int64_t total);

#endif
