/* SPDX-License-Identifier: MIT */
/* See gpu_health.h. */
#include "place/gpu_health.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "nvml_library.h"

/* A call of NVML may never return if a GPU hangs. So a thread of its own makes them. */
struct gpu_health {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool asked, ends; /* for the thread */
	bool found;       /* by the thread, with its first answer */
	struct gpu_state state;
	/* the thread's own */
	char uuid[NVML_UUID_SIZE];
	struct nvml nvml;
	struct nvml_handle *gpu;
};

static const struct gpu_state unknown = {-1, -1, -1, -1, -1, -1, ""};

/* --- the thread ------------------------------------------------------------------------------ */

static bool find(struct gpu_health *h)
{
	char text[NVML_UUID_SIZE];
	unsigned int count = 0;

	if (h->nvml.count(&count) != NVML_SUCCESS)
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (h->nvml.by_index(i, &h->gpu) == NVML_SUCCESS &&
		    h->nvml.uuid(h->gpu, text, sizeof(text)) == NVML_SUCCESS &&
		    strcasecmp(text, h->uuid) == 0)
			return true;
	return false;
}

static void close_nvml(struct gpu_health *h)
{
	h->nvml.shutdown();
	dlclose(h->nvml.library);
}

static bool open_nvml(struct gpu_health *h)
{
	const char *missing;

	if (nvml_open(&h->nvml, &missing) != NVML_SUCCESS)
		return false;
	if (h->nvml.init() != NVML_SUCCESS) {
		dlclose(h->nvml.library);
		return false;
	}
	if (!find(h)) {
		close_nvml(h);
		return false;
	}
	return true;
}

static int64_t errors_of(const struct gpu_health *h, enum nvml_memory_error kind)
{
	unsigned long long count;

	if (NVML_ASK(&h->nvml, ecc_errors, h->gpu, kind, NVML_COUNTER_SINCE_BOOT, &count) !=
	    NVML_SUCCESS)
		return -1;
	return (int64_t)count;
}

static struct gpu_state read_state(const struct gpu_health *h)
{
	struct gpu_state state = unknown;
	struct nvml_memory memory;
	unsigned long long reasons;
	enum nvml_return code;
	unsigned int mhz;

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

/* Gives an answer, and waits for the next question. False: for the end. */
static bool answer(struct gpu_health *h, const struct gpu_state *state)
{
	bool goes_on;

	pthread_mutex_lock(&h->mutex);
	h->state = *state;
	h->asked = false;
	pthread_cond_broadcast(&h->changed);
	while (!h->asked && !h->ends)
		pthread_cond_wait(&h->changed, &h->mutex);
	goes_on = !h->ends;
	pthread_mutex_unlock(&h->mutex);
	return goes_on;
}

static void *ask_nvml(void *argument)
{
	struct gpu_health *h = argument;
	struct gpu_state state = unknown;
	bool found = open_nvml(h);

	pthread_mutex_lock(&h->mutex);
	h->found = found;
	pthread_mutex_unlock(&h->mutex);
	while (answer(h, &state))
		if (found)
			state = read_state(h);
	if (found)
		close_nvml(h);
	return NULL;
}

/* --- the others ------------------------------------------------------------------------------ */

/* Asks, and waits a while, but never twice for the same answer. */
static bool ask(struct gpu_health *h, struct gpu_state *state)
{
	struct timespec until;
	bool before;
	int late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += GPU_HEALTH_PATIENCE_S;
	pthread_mutex_lock(&h->mutex);
	before = h->asked;
	h->asked = true;
	pthread_cond_broadcast(&h->changed);
	while (!before && h->asked && !late)
		late = pthread_cond_timedwait(&h->changed, &h->mutex, &until);
	*state = h->state;
	late = h->asked;
	pthread_mutex_unlock(&h->mutex);
	return !late;
}

static bool start(struct gpu_health *h)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return pthread_create(&h->thread, NULL, ask_nvml, h) == 0;
}

struct gpu_health *gpu_health_open(const char *uuid)
{
	struct gpu_health *h = *uuid ? xcalloc(1, sizeof(*h)) : NULL;
	struct gpu_state state;

	if (!h)
		return NULL;
	snprintf(h->uuid, sizeof(h->uuid), "%s", uuid);
	if (!start(h)) {
		free(h);
		return NULL;
	}
	if (ask(h, &state) && !h->found) {
		gpu_health_close(h);
		return NULL;
	}
	return h;
}

/* A thread that waits for NVML keeps its memory. */
void gpu_health_close(struct gpu_health *h)
{
	bool hangs;

	if (!h)
		return;
	pthread_mutex_lock(&h->mutex);
	hangs = h->asked;
	h->ends = true;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
	if (hangs) {
		pthread_detach(h->thread);
		return;
	}
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

struct gpu_state gpu_health_read(struct gpu_health *h)
{
	struct gpu_state state = unknown;

	if (h && !ask(h, &state)) {
		state = unknown;
		snprintf(state.lost, sizeof(state.lost), "%s", GPU_HEALTH_NO_ANSWER);
	}
	return state;
}
