/* SPDX-License-Identifier: MIT */
/* A unit: its handle, which is valid only while the unit is in the machine, and its shares of a
 * GPU. */
#include "pretend.h"

#include <stdio.h>

static enum nvml_return unit_state(const struct unit *unit)
{
	struct use use;
	enum nvml_return r;

	if (!unit->device)
		return NVML_ERROR_GPU_IS_LOST;
	r = use_read(&use, unit->gpu);
	if (r != NVML_SUCCESS)
		return r;
	r = use.state;
	use_free(&use);
	return r;
}

/* A handle is the address of a unit; any other address was never returned. */
enum nvml_return unit_get(const struct unit **ret, const struct nvml_handle *handle)
{
	const struct machine *machine = machine_get();
	uintptr_t offset;

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	offset = (uintptr_t)handle - (uintptr_t)machine->units;
	if (!handle || offset % sizeof(**ret) || offset / sizeof(**ret) >= machine->count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret = &machine->units[offset / sizeof(**ret)];
	return unit_state(*ret);
}

enum nvml_return give_handle(struct nvml_handle **ret, const struct unit *unit)
{
	enum nvml_return r = unit_state(unit);

	if (r == NVML_SUCCESS)
		*ret = (struct nvml_handle *)(uintptr_t)unit;
	return r;
}

bool unit_shares(const struct unit *unit, struct nvml_attributes *ret)
{
	const char *profile = unit == unit->gpu ? NULL : unit->device->profile;
	unsigned int compute, gpu, gigabytes;

	if (profile && sscanf(profile, "%3uc.%3ug.%6ugb", &compute, &gpu, &gigabytes) == 3)
		ret->compute_slices = compute;
	else if (profile && sscanf(profile, "%3ug.%6ugb", &gpu, &gigabytes) == 2)
		ret->compute_slices = gpu;
	else
		return false;
	ret->gpu_slices = gpu;
	ret->memory_mib = 1024ull * gigabytes;
	return true;
}
