/* SPDX-License-Identifier: MIT */
/* The MIG instances of a GPU, as NVML gives them. */
#include "inventory/nvml.h"

#include <stdio.h>

/* The gigabytes in a profile's name are eighths of the whole, rounded up to the eighth into which
 * NVML's figure (which lacks what the driver keeps) falls. */
static unsigned int profile_gigabytes(unsigned long long mib, int64_t total)
{
	const int64_t gib = (total + (1 << 30) - 1) >> 30;
	int64_t eighths = (int64_t)((mib << 20) / ((unsigned long long)total / 8 + 1)) + 1;

	if (eighths > 8)
		eighths = 8;
	return (unsigned int)((gib * eighths + 4) / 8);
}

bool mig_profile(char ret[32], const char *name, const struct nvml_attributes *shares,
		 int64_t total)
{
	const char *at = name ? strstr(name, "MIG ") : NULL;
	int n;

	if (at && at[4]) {
		n = snprintf(ret, 32, "%s", at + 4);
		return n < 32;
	}
	if (!shares || !shares->gpu_slices || !shares->memory_mib || total <= 0 ||
	    shares->memory_mib > (1ull << 40))
		return false;
	if (shares->compute_slices && shares->compute_slices != shares->gpu_slices)
		n = snprintf(ret, 32, "%uc.%ug.%ugb", shares->compute_slices, shares->gpu_slices,
			     profile_gigabytes(shares->memory_mib, total));
	else
		n = snprintf(ret, 32, "%ug.%ugb", shares->gpu_slices,
			     profile_gigabytes(shares->memory_mib, total));
	return n < 32;
}

/* The number from a query, -1 if the query failed. */
static int number(enum nvml_return r, const unsigned int *n)
{
	return r == NVML_SUCCESS && *n <= INT32_MAX ? (int)*n : -1;
}

static int read_instance(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *gpu)
{
	char uuid[NVML_UUID_SIZE + 1] = "", name[NVML_NAME_SIZE + 1] = "", profile[32];
	struct nvml_attributes shares = {0};
	struct nvml_memory memory = {0};
	gpumap_device *mig = device_add_mig(gpu);
	unsigned int id = 0;

	if (!mig)
		return GPUMAP_ENOMEM;
	mig->gi = number(NVML_ASK(nvml, mig_gi, handle, &id), &id);
	mig->ci = number(NVML_ASK(nvml, mig_ci, handle, &id), &id);
	if (nvml->memory(handle, &memory) == NVML_SUCCESS && memory.total <= INT64_MAX)
		mig->memory = (int64_t)memory.total;
	if (nvml->uuid(handle, uuid, NVML_UUID_SIZE) == NVML_SUCCESS && *uuid &&
	    !member_set(&mig->uuid, span_of(uuid)))
		return GPUMAP_ENOMEM;
	nvml->name(handle, name, NVML_NAME_SIZE);
	NVML_ASK(nvml, mig_attributes, handle, &shares);
	if (mig_profile(profile, name, &shares, gpu->memory) &&
	    !member_set(&mig->profile, span_of(profile)))
		return GPUMAP_ENOMEM;
	return GPUMAP_OK;
}

int nvml_read_mig(const struct nvml *nvml, struct nvml_handle *handle, gpumap_device *gpu,
		  struct nvml_handle *migs[MAX_MIG])
{
	unsigned int now = 0, pending, count = 0;
	enum nvml_return r = NVML_ASK(nvml, mig_mode, handle, &now, &pending);
	int result = GPUMAP_OK;

	/* A GPU or a driver without MIG has no instances. */
	if (r == NVML_ERROR_NOT_SUPPORTED || r == NVML_ERROR_FUNCTION_NOT_FOUND)
		gpu->mig_enabled = 0;
	if (r != NVML_SUCCESS)
		return GPUMAP_OK;
	gpu->mig_enabled = now == 1;
	if (!gpu->mig_enabled || NVML_ASK(nvml, mig_max, handle, &count) != NVML_SUCCESS)
		return GPUMAP_OK;
	if (count > MAX_MIG)
		count = MAX_MIG;
	for (unsigned int i = 0; result == GPUMAP_OK && i < count; i++) {
		struct nvml_handle *mig = NULL;

		/* Slots without an instance answer "not found". */
		if (NVML_ASK(nvml, mig_by_index, handle, i, &mig) != NVML_SUCCESS)
			continue;
		migs[gpu->mig_count] = mig;
		result = read_instance(nvml, mig, gpu);
	}
	return result;
}
