/* SPDX-License-Identifier: MIT */
/* Handles. A handle is valid only while its unit is in the machine. */
#include "pretend.h"

static enum nvml_return unit_state(const struct unit *unit)
{
	struct use use;
	enum nvml_return r;

	if (!unit->device)
		return NVML_ERROR_GPU_IS_LOST;
	r = use_read(&use, unit->gpu);
	return r == NVML_SUCCESS ? use.state : r;
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
