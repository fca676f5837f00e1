/* SPDX-License-Identifier: MIT */
/* MIG mode and instances. */
#include "pretend.h"

SERVE(nvmlDeviceGetMigMode, struct nvml_handle *device, unsigned int *now, unsigned int *pending)
{
	int64_t modes[2];
	UNIT_OR_RETURN(u, device);

	if (!now || !pending || u != u->gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (health(u, "mig", modes, 2) == NVML_SUCCESS) {
		*now = (unsigned int)modes[0];
		*pending = (unsigned int)modes[1];
		return NVML_SUCCESS;
	}
	if (u->device->mig_enabled < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*now = *pending = (unsigned int)u->device->mig_enabled;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceIsMigDeviceHandle, struct nvml_handle *device, unsigned int *is_mig)
{
	UNIT_OR_RETURN(u, device);

	if (!is_mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	*is_mig = u != u->gpu;
	return NVML_SUCCESS;
}

/* Slots for instances: seven on every GPU so far, none while MIG is off. */
static unsigned int places(const struct unit *u)
{
	if (u->device->mig_enabled != 1)
		return 0;
	return u->mig_count > 7 ? u->mig_count : 7;
}

SERVE(nvmlDeviceGetMaxMigDeviceCount, struct nvml_handle *device, unsigned int *count)
{
	UNIT_OR_RETURN(u, device);

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = u == u->gpu ? places(u) : 0;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetMigDeviceHandleByIndex, struct nvml_handle *device, unsigned int index,
      struct nvml_handle **mig)
{
	UNIT_OR_RETURN(u, device);

	if (!mig || u != u->gpu || index >= places(u))
		return NVML_ERROR_INVALID_ARGUMENT;
	return index < u->mig_count ? give_handle(mig, &u->mig[index]) : NVML_ERROR_NOT_FOUND;
}

SERVE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, struct nvml_handle *mig,
      struct nvml_handle **device)
{
	UNIT_OR_RETURN(u, mig);

	if (!device || u == u->gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	return give_handle(device, u->gpu);
}

static enum nvml_return give_id(const struct unit *u, unsigned int *ret, unsigned int id)
{
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (u == u->gpu)
		return NVML_ERROR_NOT_SUPPORTED;
	*ret = id;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetGpuInstanceId, struct nvml_handle *mig, unsigned int *id)
{
	UNIT_OR_RETURN(u, mig);
	return give_id(u, id, u->gi);
}

SERVE(nvmlDeviceGetComputeInstanceId, struct nvml_handle *mig, unsigned int *id)
{
	UNIT_OR_RETURN(u, mig);
	return give_id(u, id, u->ci);
}

static enum nvml_return give_attributes(struct nvml_handle *mig, struct nvml_attributes *ret)
{
	struct nvml_attributes shares = {0};
	UNIT_OR_RETURN(u, mig);

	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!unit_shares(u, &shares))
		return NVML_ERROR_NOT_SUPPORTED;
	shares.memory_mib = (unsigned long long)unit_memory(u) >> 20;
	*ret = shares;
	return NVML_SUCCESS;
}

SERVE_AS(give_attributes(mig, attributes), nvmlDeviceGetAttributes, struct nvml_handle *mig,
	 struct nvml_attributes *attributes)
SERVE_AS(give_attributes(mig, attributes), nvmlDeviceGetAttributes_v2, struct nvml_handle *mig,
	 struct nvml_attributes *attributes)
