/* SPDX-License-Identifier: MIT */
/* The slots and MIG instances of GPUs. The names of the locked files show which they are. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "inventory/inventory.h"

enum { SLOT_NAME = LEASE_NAME + 64 };

int lease_slots_each(const struct lease_folder *folder,
		     void (*fn)(struct span gpu, size_t slots, int fd, void *data), void *data)
{
	DIR *dir = folder->fd >= 0 ? lease_folder_list(folder) : NULL;
	const size_t prefix = strlen(folder->prefix);
	struct dirent *entry;
	int lacks = 0;

	if (folder->fd < 0)
		return GPUMAP_OK;
	if (!dir)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name + prefix;
		struct lease_file_name file;
		bool exclusive;
		int fd = -1;

		errno = 0;

		if (lease_concerns(folder, entry->d_name) && starts_with(name, LEASE_GPU) &&
		    lease_name_read(&file, name) && lease_is_part(&file))
			fd = lease_file(folder, name, O_RDONLY, false);
		lacks = fd < 0 && lease_lacks(errno) ? errno : lacks;
		if (fd >= 0 && lease_is_locked(folder, fd, &exclusive) && exclusive)
			fn(file.gpu, file.slots, fd, data);
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	errno = lacks;
	return lacks ? GPUMAP_EFILE : GPUMAP_OK;
}

int lease_slot_lock(const struct lease_folder *folder, const gpumap_device *gpu, size_t slots)
{
	char name[LEASE_NAME], slot[SLOT_NAME];
	int why = EWOULDBLOCK;

	lease_name(name, gpu);
	for (size_t i = 0; i < slots; i++) {
		int fd;

		snprintf(slot, sizeof(slot), "%s" LEASE_SLOT "%zu" LEASE_OF "%zu", name, i, slots);
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
