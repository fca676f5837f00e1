/* SPDX-License-Identifier: MIT */
/* The usage of devices: memory, load and processes. */
#include "inventory/inventory.h"

#include <time.h>

void usage_forget(gpumap_device *copy)
{
	copy->used = copy->free = copy->reserved = -1;
	copy->utilization = copy->temperature = copy->compute_mode = -1;
	copy->listed = LISTED_UNKNOWN;
	copy->processes = NULL;
	copy->process_room = copy->process_first = copy->process_count = 0;
}

gpumap_process process_of(int64_t pid)
{
	return (gpumap_process){.pid = pid,
				.memory = -1,
				.mig = -1,
				.visible = -1,
				.uid = -1,
				.start = -1,
				.active = -1};
}

void process_clear(gpumap_process *process)
{
	free(process->user);
	free(process->command);
	free(process->container);
}

gpumap_process *device_add_process(gpumap_device *gpu)
{
	gpumap_process *p;

	if (gpu->process_count >= MAX_PROCESSES ||
	    !ARRAY_ROOM(gpu->processes, gpu->process_count, gpu->process_room))
		return NULL;
	p = &gpu->processes[gpu->process_count++];
	*p = process_of(-1);
	return p;
}

void time_text(char ret[TIME_TEXT], int64_t seconds)
{
	time_t at = (time_t)seconds;
	struct tm utc;

	if (seconds < 0 || !gmtime_r(&at, &utc) ||
	    !strftime(ret, TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc))
		*ret = '\0';
}

void process_set_start(gpumap_process *process, int64_t seconds)
{
	process->start = seconds;
	time_text(process->started, seconds);
}

void process_set_active(gpumap_process *process, int64_t seconds)
{
	process->active = seconds;
	time_text(process->was_active, seconds ? seconds : -1);
}

static const char *const compute_modes[] = {
	[GPUMAP_COMPUTE_MODE_DEFAULT] = "default",
	[GPUMAP_COMPUTE_MODE_EXCLUSIVE_THREAD] = "exclusive-thread",
	[GPUMAP_COMPUTE_MODE_PROHIBITED] = "prohibited",
	[GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS] = "exclusive-process",
};

int compute_mode_number(struct span word)
{
	for (size_t i = 0; i < ARRAY_SIZE(compute_modes); i++)
		if (span_is(word, compute_modes[i]))
			return (int)i;
	return -1;
}

const char *compute_mode_word(int number)
{
	return number >= 0 && (size_t)number < ARRAY_SIZE(compute_modes) ? compute_modes[number]
									 : NULL;
}

static const struct {
	unsigned type;
	const char *word;
} process_types[] = {
	{GPUMAP_PROCESS_TYPE_COMPUTE, "compute"},
	{GPUMAP_PROCESS_TYPE_GRAPHICS, "graphics"},
	{GPUMAP_PROCESS_TYPE_MPS, "mps"},
};

unsigned process_type(struct span word)
{
	for (size_t i = 0; i < ARRAY_SIZE(process_types); i++)
		if (span_is(word, process_types[i].word))
			return process_types[i].type;
	return 0;
}

const char *process_type_word(size_t i, unsigned *type)
{
	if (i >= ARRAY_SIZE(process_types))
		return NULL;
	*type = process_types[i].type;
	return process_types[i].word;
}

static int by_instance(const void *a, const void *b)
{
	const gpumap_process *x = a, *y = b;

	if (x->mig != y->mig)
		return x->mig < y->mig ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

void usage_finish(gpumap_device *gpu)
{
	size_t count = gpu->process_count;

	if (count)
		qsort(gpu->processes, count, sizeof(*gpu->processes), by_instance);
	for (size_t i = 0; i < gpu->mig_count; i++) {
		gpumap_device *mig = &gpu->mig[i];

		mig->process_first =
			FIRST_PLACE(k, count, gpu->processes[k].mig < mig->mig_position);
		mig->process_count =
			FIRST_PLACE(k, count, gpu->processes[k].mig <= mig->mig_position) -
			mig->process_first;
	}
}

int64_t usage_hidden(const gpumap_device *device)
{
	int64_t left = device->used;

	for (size_t i = 0; i < device->process_count && left >= 0; i++) {
		const gpumap_process *p = gpumap_device_process(device, i);

		if (p->memory < 0)
			return -1;
		left -= p->memory < left ? p->memory : left;
	}
	return left;
}

EXPORT int gpumap_device_process_count(const gpumap_device *device)
{
	if (!device || device->listed == LISTED_UNKNOWN || device->listed == LISTED_NONE)
		return -1;
	return (int)device->process_count;
}

EXPORT const gpumap_process *gpumap_device_process(const gpumap_device *device, size_t i)
{
	return device && i < device->process_count
		       ? &device->gpu->processes[device->process_first + i]
		       : NULL;
}

EXPORT const char *gpumap_process_str(const gpumap_process *process,
				      enum gpumap_process_str_attr attr)
{
	if (!process)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_PROCESS_USER] = process->user,
		       [GPUMAP_PROCESS_COMMAND] = process->command,
		       [GPUMAP_PROCESS_CONTAINER] = process->container,
		       [GPUMAP_PROCESS_START] = *process->started ? process->started : NULL,
		       [GPUMAP_PROCESS_ACTIVE] = *process->was_active ? process->was_active : NULL);
}

EXPORT int64_t gpumap_process_int(const gpumap_process *process, enum gpumap_process_int_attr attr)
{
	if (!process)
		return -1;
	return NUMBER_AT(attr, NUMBERED(GPUMAP_PROCESS_PID) = process->pid,
			 NUMBERED(GPUMAP_PROCESS_MEMORY) = process->memory,
			 NUMBERED(GPUMAP_PROCESS_UID) = process->uid,
			 NUMBERED(GPUMAP_PROCESS_TYPES) =
				 process->types ? (int64_t)process->types : -1,
			 NUMBERED(GPUMAP_PROCESS_START_TIME) = process->start,
			 NUMBERED(GPUMAP_PROCESS_MIG) = process->mig,
			 NUMBERED(GPUMAP_PROCESS_VISIBLE) = process->visible,
			 NUMBERED(GPUMAP_PROCESS_ACTIVE_TIME) = process->active);
}
