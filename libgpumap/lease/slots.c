/* SPDX-License-Identifier: MIT */
/* The slots of GPUs. The locked files have in their names how many there are, and of how many. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "inventory/inventory.h"

#define OF "-of-"

enum { SLOT_NAME = LEASE_NAME + 64 };

/* The number at the end of `name`, which is cut off with the `mark` before it; -1: there is none.
 */
static int64_t cut_number(struct span *name, const char *mark)
{
	const size_t length = strlen(mark);
	struct span digits = {name->text + name->length, 0};
	int64_t number;

	while (digits.text > name->text && digits.text[-1] >= '0' && digits.text[-1] <= '9') {
		digits.text--;
		digits.length++;
	}
	number = span_number(digits, MAX_SLOTS);
	name->length = (size_t)(digits.text - name->text);
	if (name->length < length || memcmp(digits.text - length, mark, length) != 0)
		return -1;
	name->length -= length;
	return number;
}

/* The K of a slot's file, and the name of the GPU's; 0: it is another file. */
static size_t read_name(struct span *gpu, const char *name)
{
	int64_t slots, slot;

	*gpu = span_of(name);
	slots = cut_number(gpu, OF);
	slot = slots < 0 ? -1 : cut_number(gpu, LEASE_SLOT);
	return slot >= 0 && slot < slots ? (size_t)slots : 0;
}

bool lease_name_read(struct lease_file_name *ret, const char *name)
{
	int length = 0;

	*ret = (struct lease_file_name){0};
	if (starts_with(name, LEASE_NESTED) &&
	    (sscanf(name, LEASE_NESTED "%d-%n", &ret->level, &length) != 1 || ret->level < 1 ||
	     !length))
		return false;
	if (!starts_with(name + length, LEASE_GPU))
		return false;
	ret->slots = read_name(&ret->gpu, name + length);
	if (!ret->slots)
		ret->gpu = span_of(name + length);
	return true;
}

int lease_slots_each(const struct lease_folder *folder,
		     void (*fn)(struct span gpu, size_t slots, int fd, void *data), void *data)
{
	DIR *dir = folder->fd >= 0 ? lease_folder_list(folder) : NULL;
	struct dirent *entry;

	if (folder->fd < 0)
		return GPUMAP_OK;
	if (!dir)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	while ((entry = readdir(dir))) {
		const bool here = starts_with(entry->d_name, folder->prefix);
		const char *name = entry->d_name + (here ? strlen(folder->prefix) : 0);
		struct span gpu;
		size_t slots = here ? read_name(&gpu, name) : 0;
		int fd = slots ? lease_file(folder, name, O_RDONLY, false) : -1;

		if (fd >= 0 && !lease_try(fd, true))
			fn(gpu, slots, fd, data);
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	return GPUMAP_OK;
}

int lease_slot_lock(const struct lease_folder *folder, const gpumap_device *gpu, size_t slots)
{
	char name[LEASE_NAME], slot[SLOT_NAME];
	int why = EWOULDBLOCK;

	lease_name(name, gpu);
	for (size_t i = 0; i < slots; i++) {
		int fd;

		snprintf(slot, sizeof(slot), "%s" LEASE_SLOT "%zu" OF "%zu", name, i, slots);
		fd = lease_file(folder, slot, O_RDONLY, true);
		if (fd >= 0 && lease_try(fd, false))
			return fd;
		if (fd >= 0)
			close(fd);
		else
			why = errno;
	}
	errno = why;
	return -1;
}
