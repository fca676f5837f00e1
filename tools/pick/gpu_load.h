/* SPDX-License-Identifier: MIT */
/* The load of a few GPUs, asked again and again: one call of NVML for each. */
#ifndef GM_GPU_LOAD_H
#define GM_GPU_LOAD_H

#include "gpumap.h"

#include "nvml_library.h"

struct gpu_load {
	struct nvml nvml; /* library NULL: it does not answer */
	struct nvml_handle **handles;
	size_t count;
};

/* False: NVML does not answer, or lacks a GPU of the lease; nothing is to be closed. */
bool gpu_load_open(struct gpu_load *ret, const gpumap_lease *lease);
void gpu_load_close(struct gpu_load *load);

/* The highest load in percent; -1: that of a GPU is not known. */
int gpu_load_read(const struct gpu_load *load);

#endif
