/* SPDX-License-Identifier: MIT */
/* See gpu_memory.h. */
#include "place/gpu_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_processes.h"

/* --- NVML --------------------------------------------------------------------------------------
 */

struct gpu_memory {
	struct nvml nvml;
};

static bool missing(struct train_error *error, const char *what, const char *why)
{
	return train_fail(error, TRAIN_NO_BACKEND,
			  "--verify-mapping: %s: %.150s; it comes with NVIDIA's driver; a "
			  "container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			  what, why);
}

bool gpu_memory_open(struct gpu_memory **ret, struct train_error *error)
{
	struct gpu_memory *memory = calloc(1, sizeof(*memory));
	const char *lacks;
	enum nvml_return code;

	if (!memory)
		return train_nomem(error, "NVML");
	code = nvml_open(&memory->nvml, &lacks);
	if (code == NVML_SUCCESS) {
		code = memory->nvml.init();
		if (code == NVML_SUCCESS) {
			*ret = memory;
			return true;
		}
		dlclose(memory->nvml.library);
		missing(error, "nvmlInit", nvml_text(code));
	} else if (lacks) {
		missing(error, lacks, "NVML has no such function");
	} else {
		missing(error, NVML_LIBRARY, "cannot be opened");
	}
	free(memory);
	return false;
}

void gpu_memory_close(struct gpu_memory *memory)
{
	if (!memory)
		return;
	memory->nvml.shutdown();
	dlclose(memory->nvml.library);
	free(memory);
}

/* --- processes ---------------------------------------------------------------------------------
 */

static void find_own(struct gpu_use *use, const struct nvml_processes *list, int pid)
{
	use->listed = true;
	for (unsigned int i = 0; i < list->count; i++) {
		const struct nvml_process *entry = &list->entries[i];

		if (entry->pid != (unsigned int)pid)
			continue;
		/* A process with several instances is listed several times. */
		if (!use->own)
			use->own_bytes = 0;
		use->own = true;
		if (entry->bytes == NVML_NOT_AVAILABLE || use->own_bytes < 0)
			use->own_bytes = -1;
		else
			use->own_bytes += (int64_t)entry->bytes;
	}
}

/* Without a list use->listed stays false. */
static bool read_processes(const struct nvml *nvml, struct nvml_handle *handle, int pid,
			   struct gpu_use *use, struct train_error *error)
{
	struct nvml_processes list;

	if (!nvml_read_processes(&list, nvml, NVML_LIST_COMPUTE, handle))
		return train_nomem(error, "the list of a GPU's processes");
	if (list.code == NVML_SUCCESS)
		find_own(use, &list, pid);
	free(list.entries);
	return true;
}

/* --- GPUs and instances ------------------------------------------------------------------------
 */

struct list {
	struct gpu_use *uses;
	size_t count, room;
};

static struct gpu_use *add(struct list *list, struct train_error *error)
{
	struct gpu_use *more = array_room(list->uses, list->count, &list->room, sizeof(*more));

	if (!more) {
		train_nomem(error, "the memory of GPUs");
		return NULL;
	}
	list->uses = more;
	more = &list->uses[list->count++];
	*more = (struct gpu_use){.mig = -1, .gi = -1, .used = -1, .own_bytes = -1};
	return more;
}

/* Keeps the reason why a GPU or instance cannot be read. */
static bool answers(struct gpu_use *use, enum nvml_return code)
{
	if (code != NVML_SUCCESS && !*use->why)
		snprintf(use->why, sizeof(use->why), "%s", nvml_text(code));
	return code == NVML_SUCCESS;
}

static void read_identity(const struct nvml *nvml, struct nvml_handle *handle, struct gpu_use *use)
{
	struct nvml_pci at;

	if (answers(use, nvml->uuid(handle, use->uuid, sizeof(use->uuid))) &&
	    nvml->pci(handle, &at) == NVML_SUCCESS)
		snprintf(use->pci, sizeof(use->pci), "%04x:%02x:%02x.0", at.domain, at.bus,
			 at.device);
	memcpy(use->gpu_uuid, use->uuid, sizeof(use->gpu_uuid));
}

/* One of the two may lack permission, or data; a lost GPU gives neither. */
static bool read_use(const struct nvml *nvml, struct nvml_handle *handle, int pid,
		     struct gpu_use *use, struct train_error *error)
{
	struct nvml_memory bytes;
	enum nvml_return code;

	if (*use->why)
		return true;
	code = nvml->memory(handle, &bytes);
	if (code == NVML_SUCCESS)
		use->used = (int64_t)bytes.used;
	if (!read_processes(nvml, handle, pid, use, error))
		return false;
	if (!use->listed)
		answers(use, code);
	return true;
}

/* The maximum number of instances of the GPU; 0: it is not in MIG mode. */
static unsigned int places(const struct nvml *nvml, struct nvml_handle *gpu)
{
	unsigned int now, pending, max;

	if (NVML_ASK(nvml, mig_mode, gpu, &now, &pending) != NVML_SUCCESS || !now ||
	    !nvml->mig_by_index || NVML_ASK(nvml, mig_max, gpu, &max) != NVML_SUCCESS)
		return 0;
	return max;
}

/* *any: the GPU has instances. */
static bool read_instances(const struct nvml *nvml, struct nvml_handle *handle, int pid,
			   const struct gpu_use *gpu, struct list *list, bool *any,
			   struct train_error *error)
{
	unsigned int max = places(nvml, handle), gi;
	struct nvml_handle *mig;
	struct gpu_use *use;

	*any = false;
	for (unsigned int i = 0; i < max; i++) {
		if (nvml->mig_by_index(handle, i, &mig) != NVML_SUCCESS)
			continue;
		use = add(list, error);
		if (!use)
			return false;
		*any = true;
		use->index = gpu->index;
		use->mig = (int)i;
		if (NVML_ASK(nvml, mig_gi, mig, &gi) == NVML_SUCCESS)
			use->gi = (int)gi;
		answers(use, nvml->uuid(mig, use->uuid, sizeof(use->uuid)));
		memcpy(use->pci, gpu->pci, sizeof(use->pci));
		memcpy(use->gpu_uuid, gpu->uuid, sizeof(use->gpu_uuid));
		if (!read_use(nvml, mig, pid, use, error))
			return false;
	}
	return true;
}

static bool read_gpu(const struct nvml *nvml, unsigned int index, int pid, struct list *list,
		     struct train_error *error)
{
	struct gpu_use gpu = {
		.index = (int)index, .mig = -1, .gi = -1, .used = -1, .own_bytes = -1};
	struct nvml_handle *handle;
	struct gpu_use *use;
	bool parted = false;

	if (answers(&gpu, nvml->by_index(index, &handle)))
		read_identity(nvml, handle, &gpu);
	if (!*gpu.why && !read_instances(nvml, handle, pid, &gpu, list, &parted, error))
		return false;
	if (parted)
		return true;
	use = add(list, error);
	if (!use)
		return false;
	*use = gpu;
	return read_use(nvml, handle, pid, use, error);
}

bool gpu_memory_read(const struct gpu_memory *memory, int pid, struct gpu_use **uses, int *count,
		     struct train_error *error)
{
	const struct nvml *nvml = &memory->nvml;
	struct list list = {NULL, 0, 0};
	unsigned int gpus;
	enum nvml_return code = nvml->count(&gpus);
	bool good = code == NVML_SUCCESS ||
		    train_fail(error, TRAIN_FAILED, "--verify-mapping: nvmlDeviceGetCount: %.150s",
			       nvml_text(code));

	for (unsigned int i = 0; good && i < gpus; i++)
		good = read_gpu(nvml, i, pid, &list, error);
	if (!good) {
		free(list.uses);
		return false;
	}
	*uses = list.uses;
	*count = (int)list.count;
	return true;
}
