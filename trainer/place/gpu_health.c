/* SPDX-License-Identifier: MIT */
#include "place/gpu_health.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_library.h"

struct gpu_health {
	struct nvml nvml;
	struct nvml_handle *gpu;
};

static bool find(struct gpu_health *h, const char *uuid)
{
	char text[NVML_UUID_SIZE];
	unsigned int count = 0;

	if (h->nvml.count(&count) != NVML_SUCCESS)
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (h->nvml.by_index(i, &h->gpu) == NVML_SUCCESS &&
		    h->nvml.uuid(h->gpu, text, sizeof(text)) == NVML_SUCCESS &&
		    strcasecmp(text, uuid) == 0)
			return true;
	return false;
}

struct gpu_health *gpu_health_open(const char *uuid)
{
	struct gpu_health *h = calloc(1, sizeof(*h));
	const char *missing;

	if (!h || !*uuid || nvml_open(&h->nvml, &missing) != NVML_SUCCESS) {
		free(h);
		return NULL;
	}
	if (h->nvml.init() == NVML_SUCCESS) {
		if (find(h, uuid))
			return h;
		h->nvml.shutdown();
	}
	dlclose(h->nvml.library);
	free(h);
	return NULL;
}

void gpu_health_close(struct gpu_health *h)
{
	if (!h)
		return;
	h->nvml.shutdown();
	dlclose(h->nvml.library);
	free(h);
}

static int64_t errors_of(const struct gpu_health *h, enum nvml_memory_error kind)
{
	unsigned long long count;

	if (NVML_ASK(&h->nvml, ecc_errors, h->gpu, kind, NVML_COUNTER_SINCE_BOOT, &count) !=
	    NVML_SUCCESS)
		return -1;
	return (int64_t)count;
}

struct gpu_state gpu_health_read(const struct gpu_health *h)
{
	struct gpu_state state = {-1, -1, -1, -1, -1, -1, ""};
	struct nvml_memory memory;
	unsigned long long reasons;
	enum nvml_return code;
	unsigned int mhz;

	if (!h)
		return state;
	code = h->nvml.memory(h->gpu, &memory);
	if (code == NVML_SUCCESS)
		state.used_bytes = (int64_t)memory.used;
	/* Some GPUs share the host's memory. */
	else if (code != NVML_ERROR_NOT_SUPPORTED && code != NVML_ERROR_NO_PERMISSION)
		snprintf(state.lost, sizeof(state.lost), "%s", nvml_text(code));
	nvml_celsius(&h->nvml, h->gpu, &state.celsius);
	if (NVML_ASK(&h->nvml, clock, h->gpu, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
		state.mhz = (int32_t)mhz;
	if (NVML_ASK(&h->nvml, clock_reasons, h->gpu, &reasons) == NVML_SUCCESS)
		state.reasons = (int64_t)reasons;
	state.corrected = errors_of(h, NVML_ERRORS_CORRECTED);
	state.uncorrected = errors_of(h, NVML_ERRORS_UNCORRECTED);
	return state;
}
