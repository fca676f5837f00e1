/* SPDX-License-Identifier: MIT */
#include "fake-nvml.h"

#include <stdio.h>

#include "nvml_processes.h"

struct fake fake;

static struct nvml_handle *handle_of(unsigned int i)
{
	return (struct nvml_handle *)(uintptr_t)(i + 1);
}

static unsigned int number_of(const struct nvml_handle *handle)
{
	return (unsigned int)(uintptr_t)handle - 1;
}

static enum nvml_return fake_init(void)
{
	fake.open += fake.init == NVML_SUCCESS;
	return fake.init;
}

static enum nvml_return fake_shutdown(void)
{
	fake.open--;
	return NVML_SUCCESS;
}

static enum nvml_return fake_driver_version(char *text, unsigned int size)
{
	snprintf(text, size, "570.86.15");
	return NVML_SUCCESS;
}

static enum nvml_return fake_count(unsigned int *count)
{
	*count = fake.count;
	return fake.count_code;
}

static enum nvml_return fake_by_index(unsigned int index, struct nvml_handle **device)
{
	*device = handle_of(index);
	return fake.handle[index % MAX];
}

static enum nvml_return fake_uuid(struct nvml_handle *device, char *text, unsigned int size)
{
	unsigned int i = number_of(device);

	snprintf(text, size, "%s%u", i < 100 ? "GPU-" : "MIG-", i);
	return i < MAX ? fake.uuid[i] : NVML_SUCCESS;
}

static enum nvml_return fake_name(struct nvml_handle *device, char *text, unsigned int size)
{
	snprintf(text, size, number_of(device) < 100 ? "NVIDIA A100" : "NVIDIA A100 MIG 2g.10gb");
	return NVML_SUCCESS;
}

static enum nvml_return fake_pci(struct nvml_handle *device, struct nvml_pci *pci)
{
	memset(pci, 0, sizeof(*pci));
	pci->domain = 1;
	pci->bus = number_of(device) + 0xa0;
	return NVML_SUCCESS;
}

static enum nvml_return fake_memory(struct nvml_handle *device, struct nvml_memory *memory)
{
	enum nvml_return r = NVML_SUCCESS;

	memory->total = number_of(device) < 100 ? 40ull << 30 : 10ull << 30;
	if (fake.use.refusing == number_of(device) + 1)
		r = fake.use.memory;
	memory->used = ((unsigned long long)fake.use.used + fake.use.reserved) << 20;
	memory->free = memory->total - memory->used;
	return r;
}

/* One more query about the usage: whether the GPU is lost by now. */
static bool is_lost(void)
{
	return fake.use.lost_after >= 0 && fake.use.queries++ >= fake.use.lost_after;
}

static enum nvml_return fake_memory_v2(struct nvml_handle *device, struct nvml_memory_v2 *memory)
{
	struct nvml_memory old;
	enum nvml_return r = fake_memory(device, &old);

	if (is_lost())
		return NVML_ERROR_GPU_IS_LOST;
	if (memory->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory->total = old.total;
	memory->reserved = (unsigned long long)fake.use.reserved << 20;
	memory->used = (unsigned long long)fake.use.used << 20;
	memory->free = old.free;
	return r;
}

static enum nvml_return fake_utilization(struct nvml_handle *device,
					 struct nvml_utilization *utilization)
{
	utilization->gpu = fake.use.percent;
	return is_lost() ? NVML_ERROR_GPU_IS_LOST : fake.use.utilization;
}

static enum nvml_return fake_temperature(struct nvml_handle *device, enum nvml_sensor sensor,
					 unsigned int *celsius)
{
	*celsius = fake.use.celsius;
	return is_lost() ? NVML_ERROR_GPU_IS_LOST : fake.use.temperature;
}

static enum nvml_return fake_temperature_v(struct nvml_handle *device,
					   struct nvml_temperature *temperature)
{
	temperature->celsius = (int)fake.use.celsius + 1;
	return temperature->version == NVML_TEMPERATURE_V1 ? NVML_SUCCESS
							   : NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

static enum nvml_return fake_mode(struct nvml_handle *device, enum nvml_compute_mode *mode)
{
	*mode = (enum nvml_compute_mode)fake.use.mode_number;
	return is_lost() ? NVML_ERROR_GPU_IS_LOST : fake.use.mode;
}

static enum nvml_return fake_process_utilization(struct nvml_handle *device,
						 struct nvml_sample *samples, unsigned int *count,
						 unsigned long long since)
{
	unsigned int room = *count;

	if (is_lost())
		return NVML_ERROR_GPU_IS_LOST;
	if (fake.use.sampled != NVML_SUCCESS)
		return fake.use.sampled;
	if (number_of(device) || since || !fake.use.sample_count)
		return NVML_ERROR_NOT_FOUND;
	*count = fake.use.sample_count;
	if (*count > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(samples, fake.use.samples, *count * sizeof(*samples));
	return NVML_SUCCESS;
}

static bool is_listed(const struct fake_process *p, unsigned int device, enum nvml_list list)
{
	return p->device == device && (p->lists & 1u << list);
}

static void write_entry(char *to, const struct fake_process *p, size_t size)
{
	struct nvml_process entry = {
		.pid = p->pid,
		.bytes = (int)p->mib == NO_MIB ? NVML_NOT_AVAILABLE
					       : (unsigned long long)p->mib << 20,
		.gi = p->gi ? p->gi : UINT32_MAX,
		.ci = p->gi ? p->ci : UINT32_MAX,
	};
	char wide[sizeof(entry) + 8] = {0};

	memcpy(wide, &entry, sizeof(entry));
	memcpy(to, wide, size);
}

static enum nvml_return list_of(struct nvml_handle *device, enum nvml_list list,
				unsigned int *count, char *to, size_t size)
{
	unsigned int room = *count;

	if (is_lost())
		return NVML_ERROR_GPU_IS_LOST;
	if (fake.use.refusing == number_of(device) + 1 && fake.use.list != NVML_SUCCESS)
		return fake.use.list;
	if (fake.use.lists[list] != NVML_SUCCESS)
		return fake.use.lists[list];
	*count = 0;
	for (size_t i = 0; i < fake.use.count; i++)
		*count += is_listed(&fake.use.processes[i], number_of(device), list);
	if (*count > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (size_t i = 0; i < fake.use.count; i++)
		if (is_listed(&fake.use.processes[i], number_of(device), list)) {
			write_entry(to, &fake.use.processes[i], size);
			to += size;
		}
	return NVML_SUCCESS;
}

#define FAKE_LISTS(name, list) \
	static enum nvml_return name##_v1(struct nvml_handle *device, unsigned int *count, \
					  void *to) \
	{ \
		return list_of(device, list, count, to, offsetof(struct nvml_process, gi)); \
	} \
	static enum nvml_return name##_v3(struct nvml_handle *device, unsigned int *count, \
					  void *to) \
	{ \
		return list_of(device, list, count, to, \
			       fake.use.entry ? fake.use.entry : sizeof(struct nvml_process)); \
	}
FAKE_LISTS(fake_compute, NVML_LIST_COMPUTE)
FAKE_LISTS(fake_graphics, NVML_LIST_GRAPHICS)
FAKE_LISTS(fake_mps, NVML_LIST_MPS)

void fake_usage(struct nvml *nvml)
{
	nvml->memory_v2 = fake_memory_v2;
	nvml->utilization = fake_utilization;
	nvml->temperature = fake_temperature;
	nvml->temperature_v = fake_temperature_v;
	nvml->compute_mode = fake_mode;
	nvml->process_utilization = fake_process_utilization;
	nvml->compute_v1 = fake_compute_v1;
	nvml->graphics_v1 = fake_graphics_v1;
	nvml->mps_v1 = fake_mps_v1;
	nvml->compute_v3 = fake_compute_v3;
	nvml->graphics_v3 = fake_graphics_v3;
	nvml->mps_v3 = fake_mps_v3;
}

static enum nvml_return fake_minor(struct nvml_handle *device, unsigned int *minor)
{
	*minor = 7 - number_of(device);
	return fake.minor;
}

static enum nvml_return fake_cpus(struct nvml_handle *device, unsigned int size, unsigned long *set)
{
	memset(set, 0, size * sizeof(*set));
	set[0] = 0xf1;
	set[size - 1] = 3ul << 62;
	return NVML_SUCCESS;
}

static enum nvml_return fake_mig_mode(struct nvml_handle *device, unsigned int *now,
				      unsigned int *pending)
{
	int mig = fake.mig[number_of(device)];

	*now = *pending = mig > 0;
	return mig == NO_MIG ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

static enum nvml_return fake_mig_max(struct nvml_handle *device, unsigned int *count)
{
	*count = 7;
	return NVML_SUCCESS;
}

static enum nvml_return fake_mig_by_index(struct nvml_handle *device, unsigned int index,
					  struct nvml_handle **mig)
{
	/* The first place is empty, as after an instance was destroyed. */
	if (index < 1 || index > (unsigned int)fake.mig[number_of(device)])
		return NVML_ERROR_NOT_FOUND;
	*mig = handle_of(100 + 10 * number_of(device) + index);
	return NVML_SUCCESS;
}

static enum nvml_return fake_mig_gi(struct nvml_handle *mig, unsigned int *id)
{
	*id = number_of(mig) % 10 + 6;
	return NVML_SUCCESS;
}

static enum nvml_return fake_mig_ci(struct nvml_handle *mig, unsigned int *id)
{
	*id = 0;
	return NVML_SUCCESS;
}

static enum nvml_return fake_link_state(struct nvml_handle *device, unsigned int link,
					unsigned int *active)
{
	if (link >= 3)
		return NVML_ERROR_INVALID_ARGUMENT;
	*active = fake.links[number_of(device)][link] != 0;
	return *active ? NVML_SUCCESS : fake.link_state;
}

static enum nvml_return fake_link_type(struct nvml_handle *device, unsigned int link,
				       enum nvml_link_type *type)
{
	int to = fake.links[number_of(device)][link];

	*type = to == SWITCH ? fake.link_type : to == NPU ? NVML_LINK_TO_NPU : NVML_LINK_TO_GPU;
	return NVML_SUCCESS;
}

static enum nvml_return fake_link_pci(struct nvml_handle *device, unsigned int link,
				      struct nvml_pci *pci)
{
	int to = fake.links[number_of(device)][link];

	memset(pci, 0, sizeof(*pci));
	pci->pci_device_id = to == NPU ? 0x04ea1014 : 0x1af110de;
	pci->domain = 1;
	pci->bus = to == SWITCH || to == NPU ? 0xe0 : 0xa0 + (unsigned int)to - 1;
	return NVML_SUCCESS;
}

struct nvml fake_library(bool old)
{
	struct nvml nvml = {
		.init = fake_init,
		.shutdown = fake_shutdown,
		.driver_version = fake_driver_version,
		.count = fake_count,
		.by_index = fake_by_index,
		.uuid = fake_uuid,
		.name = fake_name,
		.pci = fake_pci,
		.memory = fake_memory,
	};

	if (old)
		return nvml;
	nvml.minor = fake_minor;
	nvml.cpus = fake_cpus;
	nvml.mig_mode = fake_mig_mode;
	nvml.mig_max = fake_mig_max;
	nvml.mig_by_index = fake_mig_by_index;
	nvml.mig_gi = fake_mig_gi;
	nvml.mig_ci = fake_mig_ci;
	nvml.link_state = fake_link_state;
	nvml.link_type = fake_link_type;
	nvml.link_pci = fake_link_pci;
	return nvml;
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.link_state = NVML_ERROR_NOT_SUPPORTED;
	fake.link_type = NVML_LINK_TO_SWITCH;
	fake.use.lost_after = -1;
}
