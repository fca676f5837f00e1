/* SPDX-License-Identifier: MIT */
#include "fake-nvml.h"

#include <stdio.h>

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
	memory->total = number_of(device) < 100 ? 40ull << 30 : 10ull << 30;
	return NVML_SUCCESS;
}

static enum nvml_return fake_minor(struct nvml_handle *device, unsigned int *minor)
{
	*minor = 7 - number_of(device);
	return fake.minor;
}

static enum nvml_return fake_cpus(struct nvml_handle *device, unsigned int size, unsigned long *set)
{
	(void)device;
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
	(void)device;
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
	(void)mig;
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
}
