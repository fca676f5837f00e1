/* SPDX-License-Identifier: MIT */
#include "place/gpu_memory.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynlib.h"
#include "nvml_api.h"

/* --- NVML --------------------------------------------------------------------------------------
 */

/* X(needed, member, function) */
#define FUNCTIONS(X) \
	X(true, init, nvmlInit_v2) \
	X(true, shutdown, nvmlShutdown) \
	X(true, text, nvmlErrorString) \
	X(true, count, nvmlDeviceGetCount_v2) \
	X(true, by_index, nvmlDeviceGetHandleByIndex_v2) \
	X(true, uuid, nvmlDeviceGetUUID) \
	X(true, pci, nvmlDeviceGetPciInfo_v2) \
	X(true, memory, nvmlDeviceGetMemoryInfo) \
	X(false, processes_v3, nvmlDeviceGetComputeRunningProcesses_v3) \
	X(false, processes_v2, nvmlDeviceGetComputeRunningProcesses_v2) \
	X(false, mig_mode, nvmlDeviceGetMigMode) \
	X(false, max_mig, nvmlDeviceGetMaxMigDeviceCount) \
	X(false, mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex) \
	X(false, mig_gi, nvmlDeviceGetGpuInstanceId)

struct gpu_memory {
	void *library;
#define MEMBER(needed, member, function) __typeof__(function) *member;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct dynlib_function functions[] = {
#define FUNCTION(needed, member, function) \
	{#function, offsetof(struct gpu_memory, member), !(needed)},
	FUNCTIONS(FUNCTION)
#undef FUNCTION
};

#define ASK(memory, member, ...) \
	((memory)->member ? (memory)->member(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND)

static bool missing(struct train_error *error, const char *what, const char *why)
{
	return train_fail(error, TRAIN_NO_BACKEND,
			  "--verify-mapping: %s: %.150s; it comes with NVIDIA's driver; a "
			  "container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			  what, why);
}

static bool load(struct gpu_memory *memory, struct train_error *error)
{
	static const char library[] = "libnvidia-ml.so.1";
	const char *symbol;

	memory->library = dynlib_open(library, functions, ARRAY_SIZE(functions), memory, &symbol);
	if (memory->library)
		return true;
	return symbol ? missing(error, symbol, "NVML has no such function")
		      : missing(error, library, "cannot be opened");
}

bool gpu_memory_open(struct gpu_memory **ret, struct train_error *error)
{
	struct gpu_memory *memory = calloc(1, sizeof(*memory));
	enum nvml_return code;

	if (!memory)
		return train_nomem(error, "NVML");
	if (load(memory, error)) {
		code = memory->init();
		if (code == NVML_SUCCESS) {
			*ret = memory;
			return true;
		}
		missing(error, "nvmlInit", memory->text(code));
	}
	if (memory->library)
		dlclose(memory->library);
	free(memory);
	return false;
}

void gpu_memory_close(struct gpu_memory *memory)
{
	if (!memory)
		return;
	memory->shutdown();
	dlclose(memory->library);
	free(memory);
}

/* --- processes ---------------------------------------------------------------------------------
 */

enum { ROOM = 64, WIDEST = 32, UNWRITTEN = 0xa5 };

/* Drivers 535.43 to 535.86 have entries of 32 bytes for _v3, all others of 24: the bytes that were
 * not written show which. The additional member, protected memory, is the last. */
static size_t entry_size(const unsigned char *entries, unsigned int count)
{
	size_t end = (size_t)count * WIDEST;

	while (end > 0 && entries[end - 1] == UNWRITTEN)
		end--;
	return end <= count * sizeof(struct nvml_process) ? sizeof(struct nvml_process) : WIDEST;
}

static void find_own(struct gpu_use *use, const unsigned char *entries, unsigned int count, int pid)
{
	size_t size = entry_size(entries, count);
	struct nvml_process entry;

	use->listed = true;
	for (unsigned int i = 0; i < count; i++) {
		memcpy(&entry, entries + i * size, sizeof(entry));
		if (entry.pid != (unsigned int)pid)
			continue;
		/* A process with several instances is listed several times. */
		if (!use->own)
			use->own_bytes = 0;
		use->own = true;
		if (entry.bytes == NVML_NOT_AVAILABLE || use->own_bytes < 0)
			use->own_bytes = -1;
		else
			use->own_bytes += (int64_t)entry.bytes;
	}
}

/* Without a list use->listed stays false. */
static bool read_processes(const struct gpu_memory *memory, struct nvml_handle *handle, int pid,
			   struct gpu_use *use, struct train_error *error)
{
	unsigned int room = ROOM, count;
	unsigned char *entries = NULL;
	enum nvml_return code;

	do {
		unsigned char *more = realloc(entries, (size_t)room * WIDEST);

		if (!more) {
			free(entries);
			return train_nomem(error, "the list of a GPU's processes");
		}
		entries = more;
		memset(entries, UNWRITTEN, (size_t)room * WIDEST);
		count = room;
		code = ASK(memory, processes_v3, handle, &count, entries);
		if (code == NVML_ERROR_FUNCTION_NOT_FOUND)
			code = ASK(memory, processes_v2, handle, &count, entries);
		room = count > room ? count + ROOM : 2 * room;
	} while (code == NVML_ERROR_INSUFFICIENT_SIZE && room < 1u << 20);
	if (code == NVML_SUCCESS)
		find_own(use, entries, count, pid);
	free(entries);
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
static bool answers(const struct gpu_memory *memory, struct gpu_use *use, enum nvml_return code)
{
	if (code != NVML_SUCCESS && !*use->why)
		snprintf(use->why, sizeof(use->why), "%s", memory->text(code));
	return code == NVML_SUCCESS;
}

static void read_identity(const struct gpu_memory *memory, struct nvml_handle *handle,
			  struct gpu_use *use)
{
	struct nvml_pci at;

	if (answers(memory, use, memory->uuid(handle, use->uuid, sizeof(use->uuid))) &&
	    memory->pci(handle, &at) == NVML_SUCCESS)
		snprintf(use->pci, sizeof(use->pci), "%04x:%02x:%02x.0", at.domain, at.bus,
			 at.device);
	memcpy(use->gpu_uuid, use->uuid, sizeof(use->gpu_uuid));
}

/* One of the two may lack permission, or data; a lost GPU gives neither. */
static bool read_use(const struct gpu_memory *memory, struct nvml_handle *handle, int pid,
		     struct gpu_use *use, struct train_error *error)
{
	struct nvml_memory bytes;
	enum nvml_return code;

	if (*use->why)
		return true;
	code = memory->memory(handle, &bytes);
	if (code == NVML_SUCCESS)
		use->used = (int64_t)bytes.used;
	if (!read_processes(memory, handle, pid, use, error))
		return false;
	if (!use->listed)
		answers(memory, use, code);
	return true;
}

/* The maximum number of instances of the GPU; 0: it is not in MIG mode. */
static unsigned int places(const struct gpu_memory *memory, struct nvml_handle *gpu)
{
	unsigned int now, pending, max;

	if (ASK(memory, mig_mode, gpu, &now, &pending) != NVML_SUCCESS || !now ||
	    !memory->mig_by_index || ASK(memory, max_mig, gpu, &max) != NVML_SUCCESS)
		return 0;
	return max;
}

/* *any: the GPU has instances. */
static bool read_instances(const struct gpu_memory *memory, struct nvml_handle *handle, int pid,
			   const struct gpu_use *gpu, struct list *list, bool *any,
			   struct train_error *error)
{
	unsigned int max = places(memory, handle), gi;
	struct nvml_handle *mig;
	struct gpu_use *use;

	*any = false;
	for (unsigned int i = 0; i < max; i++) {
		if (memory->mig_by_index(handle, i, &mig) != NVML_SUCCESS)
			continue;
		use = add(list, error);
		if (!use)
			return false;
		*any = true;
		use->index = gpu->index;
		use->mig = (int)i;
		if (ASK(memory, mig_gi, mig, &gi) == NVML_SUCCESS)
			use->gi = (int)gi;
		answers(memory, use, memory->uuid(mig, use->uuid, sizeof(use->uuid)));
		memcpy(use->pci, gpu->pci, sizeof(use->pci));
		memcpy(use->gpu_uuid, gpu->uuid, sizeof(use->gpu_uuid));
		if (!read_use(memory, mig, pid, use, error))
			return false;
	}
	return true;
}

static bool read_gpu(const struct gpu_memory *memory, unsigned int index, int pid,
		     struct list *list, struct train_error *error)
{
	struct gpu_use gpu = {
		.index = (int)index, .mig = -1, .gi = -1, .used = -1, .own_bytes = -1};
	struct nvml_handle *handle;
	struct gpu_use *use;
	bool parted = false;

	if (answers(memory, &gpu, memory->by_index(index, &handle)))
		read_identity(memory, handle, &gpu);
	if (!*gpu.why && !read_instances(memory, handle, pid, &gpu, list, &parted, error))
		return false;
	if (parted)
		return true;
	use = add(list, error);
	if (!use)
		return false;
	*use = gpu;
	return read_use(memory, handle, pid, use, error);
}

bool gpu_memory_read(const struct gpu_memory *memory, int pid, struct gpu_use **uses, int *count,
		     struct train_error *error)
{
	struct list list = {NULL, 0, 0};
	unsigned int gpus;
	enum nvml_return code = memory->count(&gpus);
	bool good = code == NVML_SUCCESS ||
		    train_fail(error, TRAIN_FAILED, "--verify-mapping: nvmlDeviceGetCount: %.150s",
			       memory->text(code));

	for (unsigned int i = 0; good && i < gpus; i++)
		good = read_gpu(memory, i, pid, &list, error);
	if (!good) {
		free(list.uses);
		return false;
	}
	*uses = list.uses;
	*count = (int)list.count;
	return true;
}
