/* SPDX-License-Identifier: MIT */
/* See nvml_processes.h. */
#include "nvml_processes.h"

#include "memory.h"

enum {
	ROOM = 64,
	MAX_ROOM = 1 << 20,
	NARROW = offsetof(struct nvml_process, gi), /* without an instance */
	NORMAL = sizeof(struct nvml_process),
	WIDEST = sizeof(struct nvml_process) + 8,
	UNWRITTEN = 0xa5
};

typedef enum nvml_return list_function(struct nvml_handle *, unsigned int *, void *);

/* The newest function for a list, and whether its entries have an instance; NULL: none. */
static list_function *list_of(const struct nvml *nvml, enum nvml_list list, bool *narrow)
{
	list_function *const rows[][3] = {
		[NVML_LIST_COMPUTE] = {nvml->compute_v3, nvml->compute_v2, nvml->compute_v1},
		[NVML_LIST_GRAPHICS] = {nvml->graphics_v3, nvml->graphics_v2, nvml->graphics_v1},
		[NVML_LIST_MPS] = {nvml->mps_v3, nvml->mps_v2, nvml->mps_v1},
	};

	*narrow = !rows[list][0] && !rows[list][1];
	return rows[list][0] ? rows[list][0] : rows[list][1] ? rows[list][1] : rows[list][2];
}

/* Drivers 535.43 to 535.86 have entries of 32 bytes for _v3, all others of 24: the bytes that were
 * not written show which. The additional member, protected memory, is the last. */
static size_t entry_size(const unsigned char *bytes, unsigned int count)
{
	size_t end = (size_t)count * WIDEST;

	while (end > 0 && bytes[end - 1] == UNWRITTEN)
		end--;
	return end <= (size_t)count * NORMAL ? NORMAL : WIDEST;
}

/* Makes entries of one size of them. */
static struct nvml_process *decode(const unsigned char *bytes, unsigned int count, bool narrow)
{
	size_t size = narrow ? NARROW : entry_size(bytes, count);
	struct nvml_process *entries = xmalloc((count + 1) * sizeof(*entries));

	for (unsigned int i = 0; entries && i < count; i++) {
		entries[i] = (struct nvml_process){.gi = UINT32_MAX, .ci = UINT32_MAX};
		memcpy(&entries[i], bytes + i * size, narrow ? NARROW : NORMAL);
	}
	return entries;
}

bool nvml_read_processes(struct nvml_processes *ret, const struct nvml *nvml, enum nvml_list list,
			 struct nvml_handle *handle)
{
	unsigned int room = ROOM, count = 0, given = 0;
	unsigned char *bytes = NULL, *more;
	bool narrow;
	list_function *function = list_of(nvml, list, &narrow);

	*ret = (struct nvml_processes){.code = NVML_ERROR_FUNCTION_NOT_FOUND};
	if (!function)
		return true;
	/* New processes may need more room than the last answer named. */
	do {
		more = xrealloc(bytes, (size_t)room * WIDEST);
		if (!more) {
			free(bytes);
			return false;
		}
		bytes = more;
		memset(bytes, UNWRITTEN, (size_t)room * WIDEST);
		count = given = room;
		ret->code = function(handle, &count, bytes);
		room = count > room ? count + ROOM : 2 * room;
	} while (ret->code == NVML_ERROR_INSUFFICIENT_SIZE && room < MAX_ROOM);
	if (ret->code == NVML_SUCCESS) {
		ret->count = count < given ? count : given;
		ret->entries = decode(bytes, ret->count, narrow);
	}
	free(bytes);
	return ret->code != NVML_SUCCESS || ret->entries;
}

bool nvml_read_samples(struct nvml_samples *ret, const struct nvml *nvml,
		       struct nvml_handle *handle)
{
	unsigned int room = ROOM, count = 0;
	struct nvml_sample *more;

	*ret = (struct nvml_samples){.code = NVML_ERROR_FUNCTION_NOT_FOUND};
	if (!nvml->process_utilization)
		return true;
	do {
		more = xrealloc(ret->entries, (size_t)room * sizeof(*more));
		if (!more) {
			free(ret->entries);
			return false;
		}
		ret->entries = more;
		count = room;
		ret->code = nvml->process_utilization(handle, more, &count, 0);
		ret->count = count < room ? count : room;
		room = count > room ? count + ROOM : 2 * room;
	} while (ret->code == NVML_ERROR_INSUFFICIENT_SIZE && room < MAX_ROOM);
	if (ret->code != NVML_SUCCESS)
		ret->count = 0;
	return true;
}
