/* SPDX-License-Identifier: MIT */
/*
 * The files of leases: one for each GPU, slot or MIG instance that is leased. It belongs to who
 * leases, so no other user can remove it, and its lock shows that the lease is active. Its name has
 * what it is. Who takes a lease locks the file first, and then looks for too many: of two who do so
 * at the same time at least one sees the other, whatever happened to the gate.
 */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lease/units.h"
#include "closing.h"
#include "process_stat.h"

enum { OWN_NAME = LEASE_NAME + 64, MAX_TRIES = 16, MAX_SWEPT = 64 };

/* --- those of all --------------------------------------------------------------------------- */

static bool is_lease(struct lease_file_name *ret, const struct lease_folder *folder,
		     const char *name, const char *gpu)
{
	const size_t prefix = strlen(folder->prefix);

	return lease_concerns(folder, name) && starts_with(name + prefix, gpu ? gpu : LEASE_GPU) &&
	       lease_name_read(ret, name + prefix) && (ret->slots || lease_is_part(ret)) &&
	       (!gpu || span_is(ret->gpu, gpu) || lease_names_instance(ret->gpu, gpu));
}

/* Whether the lock of a file is held. One that is left behind is removed: in a folder with the
 * sticky bit only its owner and root can do that. */
static bool is_held(const struct lease_folder *folder, const char *name, int fd, size_t *swept)
{
	bool exclusive;

	if (lease_is_locked(folder, fd, &exclusive))
		return exclusive;
	if (!folder->seen && ((*swept)++ < MAX_SWEPT || geteuid() == 0))
		unlinkat(folder->fd, name, 0);
	return false;
}

int lease_slots_each(const struct lease_folder *folder, const char *gpu,
		     void (*fn)(struct span unit, size_t slots, int fd, void *data), void *data)
{
	CLEANUP_FOLDER DIR *dir = folder->fd >= 0 ? lease_folder_list(folder) : NULL;
	const size_t prefix = strlen(folder->prefix);
	struct lease_file_name file;
	struct dirent *entry;
	size_t swept = 0;
	int lacks = 0;

	if (folder->fd < 0)
		return GPUMAP_OK;
	if (!dir)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	while ((entry = readdir(dir))) {
		CLEANUP_CLOSE int fd = -1;

		if (!is_lease(&file, folder, entry->d_name, gpu))
			continue;
		fd = lease_file(folder, entry->d_name + prefix, O_RDONLY, false);
		lacks = fd < 0 && lease_lacks(errno) ? errno : lacks;
		if (fd >= 0 && is_held(folder, entry->d_name, fd, &swept))
			fn(file.gpu, lease_names_instance(file.gpu, NULL) ? 0 : file.slots, fd,
			   data);
	}
	errno = lacks;
	return lacks ? GPUMAP_EFILE : GPUMAP_OK;
}

bool lease_is_owner(int64_t pid, int fd)
{
	struct timespec now = {0}, up = {0};
	struct process_stat process;
	struct stat file;
	int64_t user = pid > 0 ? process_effective_user((pid_t)pid) : -1;

	if (user < 0 || fstat(fd, &file) < 0 || user == (int64_t)file.st_uid ||
	    !process_stat_read(&process, (pid_t)pid))
		return true;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return up.tv_sec - (int64_t)process.start / sysconf(_SC_CLK_TCK) >=
	       now.tv_sec - file.st_ctim.tv_sec;
}

/* --- one's own ------------------------------------------------------------------------------ */

/* What others have of the GPU. */
struct others {
	const char *unit; /* the name of the instance that is wanted */
	ino_t own;        /* the file that is not theirs */
	struct lease_load load;
	bool instances, same; /* an instance of it is leased, and this one */
};

static void count_other(struct span unit, size_t slots, int fd, void *data)
{
	struct others *others = data;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_ino == others->own)
		return;
	if (slots) {
		load_add(&others->load, slots);
		return;
	}
	others->instances = true;
	others->same = others->same || span_is(unit, others->unit);
}

static bool has_room(const struct lease_folder *folder, const gpumap_device *unit, size_t slots,
		     ino_t own)
{
	char gpu[LEASE_NAME], name[LEASE_NAME];
	struct others others = {.unit = name, .own = own, .load = NO_LOAD};

	lease_name(gpu, unit->gpu);
	lease_name(name, unit);
	if (lease_slots_each(folder, gpu, count_other, &others) != GPUMAP_OK)
		return false;
	errno = EWOULDBLOCK;
	if (is_instance(unit))
		return !others.load.used && !others.same;
	return !others.instances && load_room(&others.load, slots) > 0;
}

/* Makes the file and locks it; -1 with errno. Another process may test its lock meanwhile, or find
 * it unlocked and remove it: then errno is EAGAIN. */
static int make_own(const struct lease_folder *folder, const char *name, ino_t *number)
{
	int fd = lease_file(folder, name, O_RDWR | O_EXCL, true);
	struct stat st;

	if (fd < 0)
		return -1;
	if (lease_try(fd, false) && fstat(fd, &st) == 0 && st.st_nlink) {
		*number = st.st_ino;
		return fd;
	}
	lease_file_remove(folder, name);
	close(fd);
	errno = EAGAIN;
	return -1;
}

int lease_own_file(const struct lease_folder *folder, const gpumap_device *unit, size_t slots)
{
	char name[LEASE_NAME], own[OWN_NAME];
	int fd = -1, why;
	ino_t number = 0;

	lease_name(name, unit);
	for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
		snprintf(own, sizeof(own), "%s" LEASE_SLOT "%" PRIu64 LEASE_OF "%zu", name,
			 lease_next_number(), slots);
		fd = make_own(folder, own, &number);
		if (fd < 0 && errno != EAGAIN && errno != EEXIST)
			return -1;
	}
	if (fd < 0 || has_room(folder, unit, slots, number))
		return fd;
	why = errno;
	lease_file_remove(folder, own);
	close(fd);
	errno = why;
	return -1;
}
