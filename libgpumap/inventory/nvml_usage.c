/* SPDX-License-Identifier: MIT */
/* The usage of GPUs and MIG instances, from NVML. */
#include "inventory/nvml.h"

#include <stdio.h>

#include "nvml_processes.h"

/* What is asked about one GPU. */
struct asker {
	const struct nvml *nvml;
	gpumap_device *gpu;
	enum nvml_return lost; /* NVML_SUCCESS: it is not */
	gpumap_report *report;
};

/* Whether NVML gave it. Notes if the GPU is lost. */
static bool given(struct asker *a, enum nvml_return r)
{
	if (r == NVML_ERROR_GPU_IS_LOST || r == NVML_ERROR_RESET_REQUIRED)
		a->lost = r;
	return r == NVML_SUCCESS;
}

static int64_t bytes(unsigned long long n)
{
	return n <= INT64_MAX ? (int64_t)n : -1;
}

/* The code is NVML's. The old call counts as used what is reserved. */
static enum nvml_return read_memory(struct asker *a, struct nvml_handle *handle, gpumap_device *d)
{
	struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
	struct nvml_memory old = {0};
	enum nvml_return r = NVML_ASK(a->nvml, memory_v2, handle, &memory);

	if (given(a, r)) {
		d->reserved = bytes(memory.reserved);
		d->used = bytes(memory.used);
		d->free = bytes(memory.free);
		return r;
	}
	if (a->lost != NVML_SUCCESS)
		return r;
	r = a->nvml->memory(handle, &old);
	if (!given(a, r))
		return r;
	d->used = bytes(old.used);
	d->free = bytes(old.free);
	return r;
}

static void read_load(struct asker *a, struct nvml_handle *handle, gpumap_device *d)
{
	struct nvml_utilization utilization;
	enum nvml_compute_mode mode;

	if (given(a, NVML_ASK(a->nvml, utilization, handle, &utilization)) &&
	    utilization.gpu <= 100)
		d->utilization = (int)utilization.gpu;
	if (d != a->gpu || a->lost != NVML_SUCCESS)
		return;
	given(a, nvml_celsius(a->nvml, handle, &a->gpu->temperature));
	if (a->lost == NVML_SUCCESS && given(a, NVML_ASK(a->nvml, compute_mode, handle, &mode)) &&
	    compute_mode_word((int)mode))
		d->compute_mode = (int)mode;
}

/* The position of the instance with these numbers; -1. */
static int instance_of(const gpumap_device *gpu, const struct nvml_process *entry)
{
	for (size_t i = 0; i < gpu->mig_count; i++)
		if (gpu->mig[i].gi == (int64_t)entry->gi && gpu->mig[i].ci == (int64_t)entry->ci)
			return (int)i;
	return -1;
}

/* The process on that instance; -1: on any. */
static gpumap_process *find(const gpumap_device *gpu, unsigned int pid, int mig)
{
	for (size_t i = 0; i < gpu->process_count; i++)
		if (gpu->processes[i].pid == (int64_t)pid &&
		    (mig < 0 || gpu->processes[i].mig == mig))
			return &gpu->processes[i];
	return NULL;
}

/* A process is in several lists, with the same memory in each. False without memory. */
static bool add_entry(gpumap_device *gpu, const struct nvml_process *entry, int mig, unsigned type)
{
	gpumap_process *p = find(gpu, entry->pid, mig);
	int64_t memory = entry->bytes == NVML_NOT_AVAILABLE ? -1 : bytes(entry->bytes);

	if (!p) {
		p = device_add_process(gpu);
		if (!p)
			return false;
		p->pid = entry->pid;
		p->mig = mig;
	}
	p->types |= type;
	if (memory > p->memory)
		p->memory = memory;
	return true;
}

/* Reads a list of a GPU, or of its instance `mig`. An answer that means "no such processes" counts
 * as an empty list, except for programs that compute. */
static int read_list(struct asker *a, struct nvml_handle *handle, int mig, enum nvml_list list,
		     enum nvml_return *code, int *read)
{
	static const unsigned types[] = {
		[NVML_LIST_COMPUTE] = GPUMAP_PROCESS_TYPE_COMPUTE,
		[NVML_LIST_GRAPHICS] = GPUMAP_PROCESS_TYPE_GRAPHICS,
		[NVML_LIST_MPS] = GPUMAP_PROCESS_TYPE_MPS,
	};
	struct nvml_processes got;
	bool good = true;

	if (!nvml_read_processes(&got, a->nvml, list, handle))
		return GPUMAP_ENOMEM;
	*code = got.code;
	*read += got.code == NVML_SUCCESS;
	if (list != NVML_LIST_COMPUTE &&
	    (got.code == NVML_ERROR_NOT_SUPPORTED || got.code == NVML_ERROR_FUNCTION_NOT_FOUND))
		*code = NVML_SUCCESS;
	for (unsigned int i = 0; good && i < got.count; i++)
		good = add_entry(a->gpu, &got.entries[i],
				 mig < 0 ? instance_of(a->gpu, &got.entries[i]) : mig, types[list]);
	free(got.entries);
	given(a, *code);
	return good ? GPUMAP_OK : GPUMAP_ENOMEM;
}

/* *refused is the first refusal. */
static int read_lists(struct asker *a, struct nvml_handle *handle, gpumap_device *d, int mig,
		      enum nvml_return *refused)
{
	static const enum nvml_list lists[] = {NVML_LIST_COMPUTE, NVML_LIST_GRAPHICS,
					       NVML_LIST_MPS};
	int r = GPUMAP_OK, read = 0;

	*refused = NVML_SUCCESS;
	for (size_t i = 0; i < ARRAY_SIZE(lists) && r == GPUMAP_OK && a->lost == NVML_SUCCESS;
	     i++) {
		enum nvml_return code = NVML_SUCCESS;

		r = read_list(a, handle, mig, lists[i], &code, &read);
		if (*refused == NVML_SUCCESS)
			*refused = code;
	}
	d->listed = !read ? LISTED_NONE : *refused == NVML_SUCCESS ? LISTED_ALL : LISTED_SOME;
	return r;
}

/* Which processes of the GPU used it lately. A process may have been on it before with the same
 * number; describe() takes that out. */
static int read_samples(struct asker *a, struct nvml_handle *handle)
{
	struct nvml_samples got;
	gpumap_device *gpu = a->gpu;

	if (!gpu->process_count)
		return GPUMAP_OK;
	if (!nvml_read_samples(&got, a->nvml, handle))
		return GPUMAP_ENOMEM;
	given(a, got.code);
	for (size_t i = 0; i < gpu->process_count; i++)
		if (got.code == NVML_SUCCESS || got.code == NVML_ERROR_NOT_FOUND)
			process_set_active(&gpu->processes[i], 0);
	for (unsigned int k = 0; k < got.count; k++) {
		const struct nvml_sample *s = &got.entries[k];
		int64_t at = bytes(s->time / 1000000);

		if (s->gpu > 100 || s->memory > 100 || s->encoder > 100 || s->decoder > 100 ||
		    !(s->gpu || s->memory || s->encoder || s->decoder))
			continue;
		for (size_t i = 0; i < gpu->process_count; i++)
			if (gpu->processes[i].pid == (int64_t)s->pid &&
			    gpu->processes[i].active < at)
				process_set_active(&gpu->processes[i], at);
	}
	free(got.entries);
	return GPUMAP_OK;
}

static void report_refused(const struct asker *a, int mig, enum nvml_return memory,
			   enum nvml_return list)
{
	const char *what = memory == NVML_SUCCESS ? "processes"
			   : list == NVML_SUCCESS ? "memory in use"
						  : "memory in use and processes";
	enum nvml_return why = memory == NVML_SUCCESS ? list : memory;
	bool parent = mig < 0 && a->gpu->mig_count;
	char name[32] = "";

	if (memory == NVML_SUCCESS && list == NVML_SUCCESS)
		return;
	if (mig >= 0)
		snprintf(name, sizeof(name), ", MIG %d", mig);
	report_add(
		a->report, FINDING_USAGE_REFUSED,
		ABOUT(.fix = parent ? "only root may read those of a GPU with MIG instances; see "
				      "its instances"
			     : why == NVML_ERROR_NO_PERMISSION ? "ask root"
							       : NULL),
		"GPU %d%s: NVML does not give its %s: %s", a->gpu->index, name, what,
		nvml_text(why));
}

static int read_device(struct asker *a, struct nvml_handle *handle, gpumap_device *d, int mig)
{
	enum nvml_return memory = read_memory(a, handle, d), list = NVML_SUCCESS;
	int r = GPUMAP_OK;

	if (a->lost == NVML_SUCCESS)
		read_load(a, handle, d);
	if (a->lost == NVML_SUCCESS)
		r = read_lists(a, handle, d, mig, &list);
	if (a->lost == NVML_SUCCESS && r == GPUMAP_OK)
		report_refused(a, mig, memory, list);
	return r;
}

int nvml_read_usage(const struct nvml *nvml, struct nvml_handle *handle,
		    struct nvml_handle *const migs[MAX_MIG], gpumap_device *gpu,
		    enum nvml_return *why, gpumap_report *report)
{
	struct asker a = {nvml, gpu, NVML_SUCCESS, report};
	int r = GPUMAP_OK;

	/* The instances come first: an entry of the GPU's own list may not name its instance. */
	for (size_t i = 0; i < gpu->mig_count && r == GPUMAP_OK && a.lost == NVML_SUCCESS; i++)
		r = read_device(&a, migs[i], &gpu->mig[i], (int)i);
	if (r == GPUMAP_OK && a.lost == NVML_SUCCESS)
		r = read_device(&a, handle, gpu, -1);
	if (r == GPUMAP_OK && a.lost == NVML_SUCCESS && !gpu->mig_count)
		r = read_samples(&a, handle);
	/* If NVML refuses the GPU's own list, there are those of its instances. */
	for (size_t i = 0; i < gpu->mig_count && gpu->listed == LISTED_NONE; i++)
		if (gpu->mig[i].listed > LISTED_NONE)
			gpu->listed = LISTED_SOME;
	*why = a.lost;
	return r;
}
