/* SPDX-License-Identifier: MIT */
/* Memory, load, temperature, compute mode and processes. */
#include "pretend.h"

int64_t unit_memory(const struct unit *unit)
{
	struct nvml_attributes shares;

	if (unit->device->memory >= 0)
		return unit->device->memory;
	if (unit == unit->gpu)
		return model_memory(unit->device->name);
	return unit_shares(unit, &shares) ? (int64_t)shares.memory_mib << 20 : -1;
}

/* Copies the use of a unit without its processes. */
static enum nvml_return use_of(struct use *ret, const struct unit *unit)
{
	enum nvml_return r = use_read(ret, unit);

	if (r != NVML_SUCCESS)
		return r;
	use_free(ret);
	ret->processes = NULL;
	ret->count = 0;
	return NVML_SUCCESS;
}

/* All of the memory is free, in use or reserved. */
static enum nvml_return known_memory(struct nvml_handle *device, struct nvml_memory_v2 *ret)
{
	struct use use;
	enum nvml_return r;
	UNIT_OR_RETURN(u, device);

	r = use_of(&use, u);
	if (r == NVML_SUCCESS)
		r = use.memory;
	if (r != NVML_SUCCESS)
		return r;
	if (unit_memory(u) < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	ret->total = (unsigned long long)unit_memory(u);
	ret->reserved = use.reserved < ret->total ? use.reserved : ret->total;
	ret->used = use.used < ret->total - ret->reserved ? use.used : ret->total - ret->reserved;
	ret->free = ret->total - ret->reserved - ret->used;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetMemoryInfo, struct nvml_handle *device, struct nvml_memory *memory)
{
	struct nvml_memory_v2 known;
	enum nvml_return r = known_memory(device, &known);

	if (r == NVML_SUCCESS && !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*memory = (struct nvml_memory){.total = known.total,
					       .free = known.free,
					       .used = known.used + known.reserved};
	return r;
}

SERVE(nvmlDeviceGetMemoryInfo_v2, struct nvml_handle *device, struct nvml_memory_v2 *memory)
{
	struct nvml_memory_v2 known = {.version = NVML_MEMORY_V2};
	enum nvml_return r = known_memory(device, &known);

	if (r == NVML_SUCCESS && !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS && memory->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (r == NVML_SUCCESS)
		*memory = known;
	return r;
}

/* A number of the use that is known, of a whole GPU. */
#define NUMBER_OR_RETURN(var, device, member) \
	struct use use; \
	enum nvml_return r; \
	int64_t var; \
	UNIT_OR_RETURN(unit, device); \
	r = use_of(&use, unit); \
	if (r != NVML_SUCCESS) \
		return r; \
	var = use.member; \
	if (var < 0 || unit != unit->gpu) \
	return NVML_ERROR_NOT_SUPPORTED

SERVE(nvmlDeviceGetUtilizationRates, struct nvml_handle *device,
      struct nvml_utilization *utilization)
{
	NUMBER_OR_RETURN(percent, device, utilization);
	if (!utilization)
		return NVML_ERROR_INVALID_ARGUMENT;
	*utilization = (struct nvml_utilization){.gpu = (unsigned int)percent};
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetTemperature, struct nvml_handle *device, enum nvml_sensor sensor,
      unsigned int *celsius)
{
	NUMBER_OR_RETURN(degrees, device, temperature);
	if (!celsius || sensor != NVML_SENSOR_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	*celsius = (unsigned int)degrees;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetTemperatureV, struct nvml_handle *device, struct nvml_temperature *temperature)
{
	NUMBER_OR_RETURN(degrees, device, temperature);
	if (!temperature || temperature->sensor != NVML_SENSOR_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (temperature->version != NVML_TEMPERATURE_V1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	temperature->celsius = (int)degrees;
	return NVML_SUCCESS;
}

SERVE(nvmlDeviceGetComputeMode, struct nvml_handle *device, enum nvml_compute_mode *mode)
{
	NUMBER_OR_RETURN(number, device, compute);
	if (!mode)
		return NVML_ERROR_INVALID_ARGUMENT;
	*mode = (enum nvml_compute_mode)number;
	return NVML_SUCCESS;
}

/* --- processes ------------------------------------------------------------------------------- */

static unsigned int count_of(const struct use *use, unsigned type)
{
	unsigned int n = 0;

	for (size_t i = 0; i < use->count; i++)
		n += (use->processes[i].types & type) != 0;
	return n;
}

/* Like the real functions: *count is the room, then the number of processes; if the room is too
 * small nothing is written. Version 1 of an entry has no instances. */
static enum nvml_return write_processes(const struct use *use, unsigned type, unsigned int *count,
					char *to, size_t size)
{
	unsigned int room = *count;

	if (use->list != NVML_SUCCESS)
		return use->list;
	*count = count_of(use, type);
	if (*count > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	if (*count && !to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (size == ENTRY)
		size = use->entry;
	for (size_t i = 0; i < use->count; i++) {
		char entry[WIDE_ENTRY] = {0};

		if (!(use->processes[i].types & type))
			continue;
		memcpy(entry, &use->processes[i].entry, sizeof(use->processes[i].entry));
		memcpy(to, entry, size);
		to += size;
	}
	return NVML_SUCCESS;
}

static enum nvml_return give_processes(struct nvml_handle *device, unsigned type,
				       unsigned int *count, void *to, size_t size)
{
	struct use use;
	enum nvml_return r;
	UNIT_OR_RETURN(u, device);

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = use_read(&use, u);
	if (r != NVML_SUCCESS)
		return r;
	r = write_processes(&use, type, count, to, size);
	use_free(&use);
	return r;
}

#define PROCESS_FUNCTION(name, type, size) \
	SERVE_AS(give_processes(device, type, count, entries, size), name, \
		 struct nvml_handle *device, unsigned int *count, void *entries)
#define PROCESS_LIST(name, type) \
	PROCESS_FUNCTION(name, type, offsetof(struct nvml_process, gi)) \
	PROCESS_FUNCTION(name##_v2, type, ENTRY) \
	PROCESS_FUNCTION(name##_v3, type, ENTRY)

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, GPUMAP_PROCESS_TYPE_COMPUTE)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, GPUMAP_PROCESS_TYPE_GRAPHICS)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, GPUMAP_PROCESS_TYPE_MPS)

SERVE(nvmlDeviceGetProcessUtilization, struct nvml_handle *device, struct nvml_sample *samples,
      unsigned int *count, unsigned long long since)
{
	struct use use;
	enum nvml_return r;
	unsigned int n = 0, room;
	UNIT_OR_RETURN(unit, device);

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = use_of(&use, unit);
	if (r == NVML_SUCCESS)
		r = unit != unit->gpu || unit->mig_count ? NVML_ERROR_NOT_SUPPORTED : use.samples;
	if (r != NVML_SUCCESS)
		return r;
	room = samples ? *count : 0;
	for (size_t i = 0; i < use.lately_count; i++) {
		unsigned long long at = (unsigned long long)use.lately[i].seconds * 1000000;

		if (at <= since)
			continue;
		if (n < room)
			samples[n] = (struct nvml_sample){
				.pid = use.lately[i].pid, .time = at, .gpu = 50};
		n++;
	}
	*count = n;
	return !n ? NVML_ERROR_NOT_FOUND : n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
