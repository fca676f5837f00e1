/* SPDX-License-Identifier: MIT */
/* The locks of one GPU: its vendor file in sysfs, then its file in the folder. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "inventory/inventory.h"

void lease_name(char ret[LEASE_NAME], const gpumap_device *gpu)
{
	if (gpu->uuid)
		snprintf(ret, LEASE_NAME, "gpu-%s", gpu->uuid);
	else if (gpu->pci)
		snprintf(ret, LEASE_NAME, "gpu-%s", gpu->pci);
	else
		snprintf(ret, LEASE_NAME, "gpu-%d", gpu->physical);
	for (char *c = ret; *c; c++)
		if (*c == '/')
			*c = '_';
}

/* -1 with ENOENT: sysfs has no such device, as in WSL and some containers. */
static int open_vendor(const struct lease_folder *folder, const gpumap_device *gpu)
{
	char path[64];

	errno = ENOENT;
	if (folder->sysfs < 0 || !gpu->pci)
		return -1;
	snprintf(path, sizeof(path), "%s/vendor", gpu->pci);
	return openat(folder->sysfs, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int lock_file(const struct lease_folder *folder, const gpumap_device *gpu)
{
	char name[LEASE_NAME];
	int fd;

	lease_name(name, gpu);
	fd = lease_file(folder, name, O_RDONLY, true);
	if (fd < 0 || lease_try(fd, false))
		return fd;
	close(fd);
	errno = EWOULDBLOCK;
	return -1;
}

bool lease_lock(struct lease_locks *ret, const struct lease_folder *folder,
		const gpumap_device *gpu)
{
	struct lease_locks locks = {open_vendor(folder, gpu), -1};

	if (locks.vendor < 0 && errno != ENOENT)
		return false;
	if (locks.vendor >= 0 && !lease_try(locks.vendor, false)) {
		close(locks.vendor);
		errno = EWOULDBLOCK;
		return false;
	}
	locks.file = lock_file(folder, gpu);
	if (locks.file < 0) {
		int why = errno;

		lease_unlock(&locks);
		errno = why;
		return false;
	}
	*ret = locks;
	return true;
}

void lease_unlock(struct lease_locks *locks)
{
	if (locks->vendor >= 0)
		close(locks->vendor);
	if (locks->file >= 0)
		close(locks->file);
	*locks = (struct lease_locks){-1, -1};
}

static enum lease_state state_of(int fd, int64_t *holder)
{
	if (fd < 0)
		return errno == ENOENT ? LEASE_FREE : LEASE_UNKNOWN;
	if (lease_try(fd, true))
		return LEASE_FREE;
	*holder = errno == EWOULDBLOCK ? lease_locker(fd) : 0;
	return errno == EWOULDBLOCK ? LEASE_HELD : LEASE_UNKNOWN;
}

/* Closes it, and keeps errno. */
static void close_quietly(int fd)
{
	int why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
}

enum lease_state lease_held(const struct lease_folder *folder, const gpumap_device *gpu,
			    int64_t *holder)
{
	int fd = open_vendor(folder, gpu);
	enum lease_state state;
	char name[LEASE_NAME];

	*holder = 0;
	state = state_of(fd, holder);
	close_quietly(fd);
	if (state != LEASE_FREE)
		return state;
	lease_name(name, gpu);
	fd = lease_file(folder, name, O_RDONLY, false);
	state = state_of(fd, holder);
	close_quietly(fd);
	return state;
}
