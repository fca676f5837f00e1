/* SPDX-License-Identifier: MIT */
/* The lists of processes that NVML has of a GPU or of a MIG instance. */
#ifndef GM_NVML_PROCESSES_H
#define GM_NVML_PROCESSES_H

#include "nvml_library.h"

enum nvml_list { NVML_LIST_COMPUTE, NVML_LIST_GRAPHICS, NVML_LIST_MPS };

struct nvml_processes {
	enum nvml_return code; /* NVML's answer. If it is not NVML_SUCCESS, there are no entries. */
	struct nvml_process *entries; /* the caller frees it */
	unsigned int count;
};

/* Reads a list by the newest function that the driver has. An entry of the oldest one has no
 * instance: its gi and ci are UINT32_MAX. False: memory ran out, and nothing is to be freed. */
bool nvml_read_processes(struct nvml_processes *ret, const struct nvml *nvml, enum nvml_list list,
			 struct nvml_handle *handle) MUST_CHECK;

struct nvml_samples {
	enum nvml_return code; /* NVML_ERROR_NOT_FOUND: no process used the GPU */
	struct nvml_sample *entries;
	unsigned int count;
};

/* Reads which processes used a GPU in the time of which the driver keeps samples. False without
 * memory; otherwise free ret->entries. */
bool nvml_read_samples(struct nvml_samples *ret, const struct nvml *nvml,
		       struct nvml_handle *handle) MUST_CHECK;

#endif
