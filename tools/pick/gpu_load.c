/* SPDX-License-Identifier: MIT */
/* See gpu_load.h. */
#include "pick/gpu_load.h"

#include <dlfcn.h>

/* By UUID, because numbers change when a GPU is lost. NULL: there is none. */
static struct nvml_handle *find(const struct nvml *nvml, const gpumap_device *gpu)
{
	const char *wanted = gpumap_device_str(gpu, GPUMAP_DEVICE_UUID);
	unsigned int count = 0;

	if (!wanted || nvml->count(&count) != NVML_SUCCESS)
		return NULL;
	for (unsigned int i = 0; i < count; i++) {
		struct nvml_handle *handle;
		char uuid[NVML_UUID_SIZE + 1] = "";

		if (nvml->by_index(i, &handle) == NVML_SUCCESS &&
		    nvml->uuid(handle, uuid, NVML_UUID_SIZE) == NVML_SUCCESS && streq(uuid, wanted))
			return handle;
	}
	return NULL;
}

static bool find_all(struct gpu_load *load, const gpumap_lease *lease)
{
	size_t count = gpumap_lease_count(lease);

	load->handles = calloc(count + 1, sizeof(struct nvml_handle *));
	for (; load->handles && load->count < count; load->count++) {
		load->handles[load->count] =
			find(&load->nvml, gpumap_lease_device(lease, load->count));
		if (!load->handles[load->count])
			return false;
	}
	return load->handles;
}

bool gpu_load_open(struct gpu_load *ret, const gpumap_lease *lease)
{
	struct gpu_load load = {0};
	const char *missing = NULL;

	if (nvml_open(&load.nvml, &missing) != NVML_SUCCESS)
		return false;
	if (load.nvml.init() != NVML_SUCCESS) {
		dlclose(load.nvml.library);
		return false;
	}
	if (!find_all(&load, lease)) {
		gpu_load_close(&load);
		return false;
	}
	*ret = load;
	return true;
}

void gpu_load_close(struct gpu_load *load)
{
	if (!load->nvml.library)
		return;
	load->nvml.shutdown();
	dlclose(load->nvml.library);
	free(load->handles);
	*load = (struct gpu_load){0};
}

int gpu_load_read(const struct gpu_load *load)
{
	int highest = load->nvml.library ? 0 : -1;

	for (size_t i = 0; highest >= 0 && i < load->count; i++) {
		struct nvml_utilization now = {0};

		if (NVML_ASK(&load->nvml, utilization, load->handles[i], &now) != NVML_SUCCESS)
			return -1;
		if ((int)now.gpu > highest)
			highest = (int)now.gpu;
	}
	return highest;
}
